//! A copy of the tree that bugs are planted in. Only what differs is written, so that builds in it go on where they stopped.
//!
//! It must not know what is planted.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use super::bug::Bug;

/// The copy.
pub(crate) struct Copy {
    from: PathBuf,
    pub(crate) root: PathBuf,
}

impl Copy {
    /// Makes `root` what the working tree is, without what git ignores.
    pub(crate) fn made(sh: &Shell, root: &Path) -> Result<Self> {
        let listed = cmd!(sh, "git ls-files --cached --others --exclude-standard").quiet().read()?;
        fs::create_dir_all(root)?;
        let copy = Self { from: sh.current_dir(), root: root.to_owned() };
        // What was removed and not yet committed is listed too.
        let files: BTreeSet<&str> = listed.lines().filter(|file| copy.from.join(file).is_file()).collect();
        for file in &files {
            copy.bring(file)?;
        }
        copy.sweep(root, &files)?;
        Ok(copy)
    }

    /// Plants a bug; gives what stood there before. The working tree may change meanwhile.
    pub(crate) fn plant(&self, bug: &Bug) -> Result<Vec<(PathBuf, Vec<u8>)>> {
        let sound = bug.files.iter().map(|file| {
            let path = self.root.join(file);
            fs::read(&path).map(|bytes| (path, bytes))
        });
        let sound = sound.collect::<Result<_, _>>()?;
        let sh = Shell::new()?;
        sh.change_dir(&self.root);
        // Outside of any repository: inside of one `git apply` passes over files in folders that are ignored.
        let _outside = sh.push_env("GIT_CEILING_DIRECTORIES", self.root.parent().unwrap_or(&self.root));
        let patch = self.from.join(&bug.patch);
        cmd!(sh, "git apply {patch}").quiet().run().with_context(|| format!("failed to plant `{}`", bug.name))?;
        Ok(sound)
    }

    fn bring(&self, file: &str) -> Result<()> {
        let (from, to) = (self.from.join(file), self.root.join(file));
        let bytes = fs::read(&from).with_context(|| format!("failed to read {}", from.display()))?;
        if fs::read(&to).is_ok_and(|there| there == bytes) {
            return Ok(());
        }
        fs::create_dir_all(to.parent().unwrap_or(&self.root))?;
        fs::write(&to, bytes).with_context(|| format!("failed to write {}", to.display()))
    }

    /// Removes what the working tree does not have.
    fn sweep(&self, folder: &Path, files: &BTreeSet<&str>) -> Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                self.sweep(&path, files)?;
            } else if path
                .strip_prefix(&self.root)
                .is_ok_and(|file| !file.to_str().is_some_and(|file| files.contains(file)))
            {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }
}
