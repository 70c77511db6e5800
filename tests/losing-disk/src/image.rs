//! What is durable of each file.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The folders that are watched.
static WATCHED: Mutex<Vec<Arc<Images>>> = Mutex::new(Vec::new());

/// The files of a folder.
#[derive(Debug)]
pub(crate) struct Images {
    folder: PathBuf,
    files: Mutex<HashMap<PathBuf, Image>>,
}

/// What a file's changes are told to, while it is open.
#[derive(Debug)]
pub(crate) struct Told {
    images: Arc<Images>,
    path: PathBuf,
}

#[derive(Debug, Default)]
struct Image {
    durable: Vec<u8>,
    /// What nobody waited for yet, in order.
    since: Vec<Change>,
}

#[derive(Debug)]
pub(crate) enum Change {
    Written { at: usize, bytes: Vec<u8> },
    Cut { to: usize },
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn watch(folder: &Path) -> Arc<Images> {
    let images = Arc::new(Images { folder: folder.to_owned(), files: Mutex::default() });
    held(&WATCHED).push(Arc::clone(&images));
    images
}

pub(crate) fn forget(images: &Arc<Images>) {
    held(&WATCHED).retain(|other| !Arc::ptr_eq(images, other));
}

fn watched(path: &Path) -> Option<Arc<Images>> {
    held(&WATCHED).iter().find(|images| path.parent() == Some(&*images.folder)).map(Arc::clone)
}

/// A file that is about to be opened, if its folder is watched. What it has now is durable.
pub(crate) fn opening(path: &Path) -> Option<Told> {
    let images = watched(path)?;
    held(&images.files)
        .entry(path.to_owned())
        .or_insert_with(|| Image { durable: fs::read(path).unwrap_or_default(), since: Vec::new() });
    Some(Told { images, path: path.to_owned() })
}

/// A file is gone, and its folder was waited for.
pub(crate) fn deleted(path: &Path) {
    if let Some(images) = watched(path) {
        held(&images.files).remove(path);
    }
}

impl Told {
    pub(crate) fn changed(&self, change: Change) {
        held(&self.images.files).entry(self.path.clone()).or_default().since.push(change);
    }

    /// Everything up to here is durable.
    pub(crate) fn waited(&self) {
        let mut files = held(&self.images.files);
        let image = files.entry(self.path.clone()).or_default();
        for change in std::mem::take(&mut image.since) {
            change.apply(&mut image.durable);
        }
    }
}

impl Change {
    fn apply(self, to: &mut Vec<u8>) {
        match self {
            Self::Written { at, bytes } => {
                let end = at + bytes.len();
                if to.len() < end {
                    to.resize(end, 0);
                }
                to[at..end].copy_from_slice(&bytes);
            }
            Self::Cut { to: len } => to.truncate(len),
        }
    }
}

impl Images {
    pub(crate) fn write(&self, into: &Path) -> io::Result<()> {
        for (path, image) in &*held(&self.files) {
            if let Some(name) = path.file_name() {
                fs::write(into.join(name), &image.durable)?;
            }
        }
        Ok(())
    }
}
