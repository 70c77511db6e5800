//! Other processes: this test binary, run again for one test that plays a part when it is told to.
//!
//! Parent and child speak in lines over pipes: progress is what was said, never a guess in time. A child is killed
//! (`kill -9`, by its own id) when it is dropped, and no wait is without a bound.

use std::{
    env,
    io::{self, BufRead, BufReader, Write},
    process::{self, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
};

use super::gate::PATIENCE;

/// What the part is that a child plays, as JSON.
const PART: &str = "IDEM_HARNESS_PLAY";

/// What a test harness prints by itself does not begin like this.
const MARK: &str = "::idem ";

/// What a child says when it stands where it is to be killed.
pub(crate) const HERE: &str = "here";

/// A running child.
#[derive(Debug)]
pub(crate) struct Child {
    process: process::Child,
    lines: Receiver<String>,
}

impl Child {
    /// Starts this binary for the one test `test` (its path within the crate), to play a part.
    pub(crate) fn start(test: &str, part: &str) -> io::Result<Self> {
        let mut process = Command::new(env::current_exe()?)
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(PART, part)
            // Its own output is not the parent's.
            .stderr(Stdio::null())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let Some(output) = process.stdout.take() else { return Err(io::Error::other("a child without output")) };
        let (tell, lines) = channel();
        thread::spawn(move || {
            let said = BufReader::new(output).lines().map_while(Result::ok);
            let marked = said.filter_map(|line| Some(line.strip_prefix(MARK)?.to_owned()));
            // Nobody listens any more: the test is over.
            marked.map_while(|line| tell.send(line).ok()).for_each(drop);
        });
        Ok(Self { process, lines })
    }

    /// Says a line to the child.
    pub(crate) fn say(&mut self, line: &str) -> io::Result<()> {
        let Some(input) = self.process.stdin.as_mut() else { return Err(io::Error::other("a child that is deaf")) };
        input.write_all(format!("{line}\n").as_bytes())
    }

    /// The next line of the child.
    pub(crate) fn hear(&mut self) -> Result<String, String> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Ok(line),
            Err(RecvTimeoutError::Timeout) => Err(format!("a child process said nothing for {PATIENCE:?}")),
            Err(RecvTimeoutError::Disconnected) => {
                Err(format!("a child process ended by itself ({:?})", self.process.wait()))
            }
        }
    }

    /// `kill -9`, by its id, and the end of it.
    pub(crate) fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end();
    }
}

/// The part that this process plays as a child.
pub(crate) fn part() -> Option<String> {
    env::var(PART).ok()
}

/// Says a line to the parent.
pub(crate) fn say(line: &str) {
    let mut output = io::stdout().lock();
    // The test harness may stand in the middle of a line of its own. A parent that is gone hears nothing.
    let _ = output.write_all(format!("\n{MARK}{line}\n").as_bytes()).and_then(|()| output.flush());
}

/// The next line of the parent; none when it has nothing more to say.
pub(crate) fn hear() -> Option<String> {
    let mut line = String::new();
    let read = io::stdin().read_line(&mut line).unwrap_or(0);
    (read > 0).then(|| line.trim_end().to_owned())
}

/// Says that this process is to be killed, and does not go on. It ends with its parent, if not before.
pub(crate) fn stand_still() {
    say(HERE);
    while hear().is_some() {}
    process::exit(1);
}
