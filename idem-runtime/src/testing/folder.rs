//! A folder that lasts as long as what stands in it is needed.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

static FOLDERS: AtomicU32 = AtomicU32::new(0);

/// A new folder below the machine's one for such things. Removed when it is dropped, unless it is another process's.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    ours: bool,
}

impl Folder {
    pub(crate) fn new() -> io::Result<Self> {
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let path = std::env::temp_dir().join(format!("idem-{}-{now}-{number}", process::id()));
        fs::create_dir(&path)?;
        Ok(Self { path, ours: true })
    }

    /// One that another process has made, and removes.
    pub(crate) fn given(path: PathBuf) -> Self {
        Self { path, ours: false }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.ours {
            // The machine removes what stays behind.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
