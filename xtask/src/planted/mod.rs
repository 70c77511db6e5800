//! `cargo xtask planted`: bugs that are planted in the runtime, one at a time, each to be found by the tests it names.
//!
//! A suite that passes says little unless it is known to fail. It must not know the bugs: a patch below `tests/planted` says
//! what is planted and who has to notice. Nothing is planted in the working tree, only in a copy of it. That the tests pass without a bug is the step `tests`.

mod bug;
mod copy;
mod trial;

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use xshell::Shell;

use self::{bug::Bug, copy::Copy, trial::Verdict};
use crate::workspace::Workspace;

/// Says of every bug whether its patch still fits. It is cheap, so CI does it at every change.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    let bugs = Bug::all(sh)?;
    for bug in &bugs {
        bug.fits(sh)?;
    }
    println!("{} bugs can be planted", bugs.len());
    Ok(())
}

/// Plants the named bugs, or all, and says which were found.
pub(crate) fn run(sh: &Shell, names: &[String]) -> Result<()> {
    let bugs = Bug::named(sh, names)?;
    for bug in &bugs {
        bug.fits(sh)?;
    }
    // Beside the tree's own builds: what is built of other crates serves both.
    let workspace = Workspace::read(sh)?;
    let build = workspace.target_directory();
    let copy = Copy::made(sh, &build.join("planted"))?;
    let mut survived = Vec::new();
    println!("\n{:<32}  {:<10}  {:>6}  found by", "planted", "verdict", "s");
    for bug in &bugs {
        let begun = Instant::now();
        let sound = copy.plant(bug)?;
        let verdict = trial::run(&copy, build, bug);
        for (path, bytes) in sound {
            sh.write_file(path, bytes)?;
        }
        let verdict = verdict.with_context(|| format!("with `{}` planted", bug.name))?;
        let seconds = begun.elapsed().as_secs();
        println!("{:<32}  {:<10}  {seconds:>6}  {}", bug.name, verdict.word(), bug.tests_in_words());
        if let Verdict::Survived(unnoticed) = verdict {
            survived.push(format!("{}: passed all the same: {}", bug.name, unnoticed.join(", ")));
        }
    }
    println!("\n{} planted, {} killed, {} survived", bugs.len(), bugs.len() - survived.len(), survived.len());
    ensure!(survived.is_empty(), "bugs that nobody noticed:\n{}", survived.join("\n"));
    Ok(())
}
