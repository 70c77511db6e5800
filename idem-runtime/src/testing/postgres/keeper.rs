//! Who removes a server: a process of its own, which outlives the server's owner whatever ends that.
//!
//! An owner that is killed, or exits, drops nothing. But the pipe that it alone holds is closed then, as when it lets go in good
//! order: there is one way to remove a server, and this is it. It must not know what kind of server it is.

use std::{
    fs,
    io::{self, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// The variable that names the folder. Not an argument: processes are known by the folder in theirs.
const FOLDER: &str = "IDEM_KEPT_FOLDER";

/// Waits for the end of its input; then ends what works on the folder's data (the server at once, its children with it), also
/// what is stopped or only makes or starts it, and removes the folder. Each turn starts programs, so turns are paced by them.
const KEEPS: &str = r#"
trap '' HUP INT TERM
cat
turns=0
while
    found=$(ps -A -ww -o pid= -o args= | awk 'index($0, " -D " ENVIRON["IDEM_KEPT_FOLDER"] "/data") { print $1 }')
    [ -n "$found" ] || ! rm -rf "$IDEM_KEPT_FOLDER"
do
    turns=$((turns + 1))
    [ "$turns" -lt 2000 ] || exit 1
    kill -QUIT $found
    kill -CONT $found
done 2>/dev/null
"#;

/// A folder that is removed, and what works on its data ended, as soon as this is dropped or its process is gone.
#[derive(Debug)]
pub(super) struct Kept {
    folder: PathBuf,
    keeper: Child,
}

impl Kept {
    /// Makes the folder.
    pub(super) fn new(folder: PathBuf) -> io::Result<Self> {
        fs::create_dir(&folder)?;
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPS]).env(FOLDER, &folder).current_dir("/");
        // Neither what is sent to its owner's group reaches it, nor does who reads its owner's output wait for it.
        keeper.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        match keeper.spawn() {
            Ok(keeper) => Ok(Self { folder, keeper }),
            Err(error) => {
                fs::remove_dir(&folder)?;
                Err(error)
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // Its input is closed before it is waited for.
        let ended = self.keeper.wait();
        if !ended.is_ok_and(|status| status.success()) {
            // A test has ended by now: there is nobody else to tell.
            let _ = writeln!(io::stderr(), "a server of a test was left behind: {}", self.folder.display());
        }
    }
}
