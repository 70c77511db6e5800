//! A disk under SQLite that forgets at a power loss whatever nobody waited for.
//!
//! Files of a watched folder are written as always; beside that their durable state is kept: what was written before the last
//! time that SQLite waited for the disk. A folder that holds no more than that is what a machine finds after the power came
//! back. Real disks may keep some of the rest, in any order; what is tested here must not need any of it.

mod image;
mod vfs;

use std::{io, path::Path, sync::Arc};

use self::image::Images;

/// A folder whose files are watched, until this is dropped.
#[derive(Debug)]
pub struct Disk {
    images: Arc<Images>,
}

impl Disk {
    /// Watches the files that SQLite opens in this folder from now on. An open file stays as it was.
    ///
    /// # Errors
    /// When there is no such folder, or SQLite does not take the disk.
    pub fn watch(folder: &Path) -> io::Result<Self> {
        vfs::register().map_err(|code| io::Error::other(format!("SQLite refused the disk: {code}")))?;
        // As SQLite names the files that it opens.
        Ok(Self { images: image::watch(&folder.canonicalize()?) })
    }

    /// Writes into another folder what would be left of this one's files.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn after_power_loss(&self, into: &Path) -> io::Result<()> {
        self.images.write(into)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        image::forget(&self.images);
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    fn rows(folder: &Path) -> i64 {
        let db = Connection::open(folder.join("a.db")).expect("a database");
        db.query_row("select count(*) from a", [], |row| row.get(0)).expect("a count")
    }

    /// How many of three rows are left where each transaction waits as `level` says.
    fn left(mode: &str, level: &str) -> i64 {
        let (folder, after) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let disk = Disk::watch(folder.path()).expect("a disk");
        let db = Connection::open(folder.path().join("a.db")).expect("a database");
        db.execute_batch(&format!("pragma journal_mode = {mode}; pragma synchronous = full; create table a (b)"))
            .expect("a table");
        db.execute_batch(&format!("pragma synchronous = {level}")).expect("a level");
        for _ in 0..3 {
            db.execute("insert into a values (1)", []).expect("a row");
        }
        disk.after_power_loss(after.path()).expect("written");
        assert_eq!(rows(folder.path()), 3);
        rows(after.path())
    }

    #[test]
    fn what_was_waited_for_is_left() {
        assert_eq!(left("wal", "full"), 3);
        assert_eq!(left("delete", "full"), 3);
    }

    #[test]
    fn what_nobody_waited_for_is_lost() {
        assert_eq!(left("wal", "normal"), 0);
        assert_eq!(left("wal", "off"), 0);
    }

    #[test]
    fn a_folder_that_nobody_watches_is_none_of_its_business() {
        let (watched, other, after) = (
            tempfile::tempdir().expect("a folder"),
            tempfile::tempdir().expect("a folder"),
            tempfile::tempdir().expect("a folder"),
        );
        let disk = Disk::watch(watched.path()).expect("a disk");
        let db = Connection::open(other.path().join("a.db")).expect("a database");
        db.execute_batch("create table a (b)").expect("a table");
        disk.after_power_loss(after.path()).expect("written");
        assert_eq!(after.path().read_dir().expect("a folder").count(), 0);
    }
}
