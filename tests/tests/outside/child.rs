//! Other processes: this test binary, run again for one test that plays a role when it is told to.
//!
//! Parent and child speak in lines over pipes: progress is what was said, never a guess in time. A child is killed
//! (`kill -9`, by its own id) when it is dropped, and no wait is without a bound.

use std::{
    env,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{self, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::Duration,
};

/// The test that every binary with children has: `fn child_process()`.
const TEST: &str = "child_process";

const ROLE: &str = "IDEM_CHILD_ROLE";
const FOLDER: &str = "IDEM_CHILD_FOLDER";

/// What the test harness itself prints does not begin like this.
const MARK: &str = "::";

/// Nothing that is waited for here takes this long.
const BOUND: Duration = Duration::from_mins(2);

/// A running child.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) process: process::Child,
    pub(crate) lines: Receiver<String>,
}

impl Child {
    /// Starts this binary in a role, in a folder.
    pub(crate) fn start(role: &str, folder: &Path) -> Self {
        Self::start_with(role, folder, &[])
    }

    /// The same, with more in its environment.
    pub(crate) fn start_with(role: &str, folder: &Path, more: &[(&str, &Path)]) -> Self {
        let mut process = Command::new(env::current_exe().expect("this binary"))
            .args(["--exact", TEST, "--nocapture", "--test-threads=1"])
            .env(ROLE, role)
            .env(FOLDER, folder)
            .envs(more.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child process");
        let output = BufReader::new(process.stdout.take().expect("its output"));
        let (tell, lines) = channel();
        thread::spawn(move || {
            let said = output.lines().map_while(Result::ok);
            let marked = said.filter_map(|line| Some(line.strip_prefix(MARK)?.to_owned()));
            // Nobody listens any more: the test is over.
            marked.map_while(|line| tell.send(line).ok()).for_each(drop);
        });
        Self { process, lines }
    }

    /// Says a line to the child.
    pub(crate) fn say(&mut self, line: &str) {
        let input = self.process.stdin.as_mut().expect("its input");
        input.write_all(format!("{line}\n").as_bytes()).expect("the child listens");
    }

    /// The next line of the child.
    pub(crate) fn hear(&mut self) -> String {
        match self.lines.recv_timeout(BOUND) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => panic!("a child said nothing for {BOUND:?}"),
            Err(RecvTimeoutError::Disconnected) => panic!("a child ended: {:?}", self.process.wait()),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The role that this process plays as a child, and its folder.
pub(crate) fn role() -> Option<(String, std::path::PathBuf)> {
    Some((env::var(ROLE).ok()?, env::var_os(FOLDER)?.into()))
}

/// Says a line to the parent.
pub(crate) fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    // The harness may stand in the middle of a line of its own.
    output.write_all(format!("\n{MARK}{line}\n").as_bytes()).and_then(|()| output.flush()).expect("the parent listens");
}

/// The next line of the parent; none when it has nothing more to say.
pub(crate) fn hear() -> Option<String> {
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line).expect("the parent speaks");
    (read > 0).then(|| line.trim_end().to_owned())
}
