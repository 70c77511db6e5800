//! The disk as SQLite sees it: in front of the usual one, which does all of the work.

use std::{
    ffi::{CStr, OsStr, c_char, c_int, c_void},
    os::unix::ffi::OsStrExt,
    path::Path,
    slice,
    sync::OnceLock,
};

use rusqlite::ffi;

use crate::image::{self, Change, Told};

const NAME: &CStr = c"losing-disk";

/// The usual disk's table, and ours.
struct Disks {
    usual: *mut ffi::sqlite3_vfs,
    _ours: Box<ffi::sqlite3_vfs>,
}

// SAFETY: SQLite itself calls both tables from every thread; neither is changed after it was registered.
unsafe impl Send for Disks {}
// SAFETY: as above.
unsafe impl Sync for Disks {}

static DISKS: OnceLock<Result<Disks, c_int>> = OnceLock::new();

/// An open file: ours in front, the usual one's behind it, in memory that SQLite gave.
#[repr(C)]
struct File {
    base: ffi::sqlite3_file,
    told: Option<Box<Told>>,
}

/// Makes it the disk of every connection that names no other one.
pub(crate) fn register() -> Result<(), c_int> {
    DISKS.get_or_init(registered).as_ref().map(|_| ()).map_err(|code| *code)
}

fn registered() -> Result<Disks, c_int> {
    // SAFETY: the usual disk lives as long as the program. Ours is a copy of its table with other functions for what is
    // changed here, and boxed: it stays where it is while SQLite knows it, because `DISKS` is never dropped.
    unsafe {
        let code = ffi::sqlite3_initialize();
        let usual = ffi::sqlite3_vfs_find(std::ptr::null());
        if code != ffi::SQLITE_OK || usual.is_null() {
            return Err(code);
        }
        let mut ours = Box::new(*usual);
        ours.zName = NAME.as_ptr();
        ours.pNext = std::ptr::null_mut();
        ours.szOsFile += c_int::try_from(size_of::<File>()).map_err(|_| ffi::SQLITE_NOMEM)?;
        ours.xOpen = Some(open);
        ours.xDelete = Some(delete);
        match ffi::sqlite3_vfs_register(&raw mut *ours, 1) {
            ffi::SQLITE_OK => Ok(Disks { usual, _ours: ours }),
            code => Err(code),
        }
    }
}

fn usual() -> *mut ffi::sqlite3_vfs {
    match DISKS.get() {
        Some(Ok(disks)) => disks.usual,
        // SQLite may ask while it is being told: by then it has the usual one only.
        // SAFETY: a look-up by name.
        _ => unsafe { ffi::sqlite3_vfs_find(c"unix".as_ptr()) },
    }
}

/// # Safety
/// `name` is null or ends with a NUL.
unsafe fn path<'a>(name: *const c_char) -> Option<&'a Path> {
    // SAFETY: the caller's word.
    (!name.is_null()).then(|| Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes())))
}

unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite gives a name that ends with a NUL, or none for a temporary file, and `szOsFile` bytes for the file.
    unsafe {
        let told = path(name).and_then(image::opening).map(Box::new);
        let ours = file.cast::<File>();
        ours.write(File { base: ffi::sqlite3_file { pMethods: std::ptr::null() }, told });
        let Some(open) = (*usual()).xOpen else { return ffi::SQLITE_CANTOPEN };
        let code = open(usual(), name, behind(file), flags, out);
        if code == ffi::SQLITE_OK {
            (*ours).base.pMethods = &raw const METHODS;
        } else {
            (*ours).told = None;
        }
        code
    }
}

unsafe extern "C" fn delete(_: *mut ffi::sqlite3_vfs, name: *const c_char, wait: c_int) -> c_int {
    // SAFETY: SQLite gives a name that ends with a NUL.
    unsafe {
        let Some(delete) = (*usual()).xDelete else { return ffi::SQLITE_IOERR_DELETE };
        let code = delete(usual(), name, wait);
        if code == ffi::SQLITE_OK
            && let Some(path) = path(name)
        {
            image::deleted(path);
        }
        code
    }
}

/// The usual disk's part of an open file.
///
/// # Safety
/// `file` was given to [`open`].
unsafe fn behind(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
    // SAFETY: it has `szOsFile` bytes.
    unsafe { file.cast::<File>().add(1).cast() }
}

/// # Safety
/// `file` is open.
unsafe fn told<'a>(file: *mut ffi::sqlite3_file) -> Option<&'a Told> {
    // SAFETY: an open file has its `File` in front.
    unsafe { (*file.cast::<File>()).told.as_deref() }
}

/// Functions that the usual disk carries out alone.
macro_rules! passed_on {
    ($($name:ident = $method:ident($($value:ident: $kind:ty),*) -> $result:ty, or $otherwise:expr;)*) => {$(
        unsafe extern "C" fn $name(file: *mut ffi::sqlite3_file $(, $value: $kind)*) -> $result {
            // SAFETY: the file is open, so the usual disk's part of it is, and the values are SQLite's.
            unsafe {
                let file = behind(file);
                match (*(*file).pMethods).$method {
                    Some(method) => method(file $(, $value)*),
                    None => $otherwise,
                }
            }
        }
    )*};
}

passed_on! {
    read = xRead(to: *mut c_void, many: c_int, at: i64) -> c_int, or ffi::SQLITE_IOERR;
    real_write = xWrite(from: *const c_void, many: c_int, at: i64) -> c_int, or ffi::SQLITE_IOERR;
    real_truncate = xTruncate(to: i64) -> c_int, or ffi::SQLITE_IOERR;
    real_sync = xSync(flags: c_int) -> c_int, or ffi::SQLITE_IOERR;
    real_close = xClose() -> c_int, or ffi::SQLITE_OK;
    size = xFileSize(out: *mut i64) -> c_int, or ffi::SQLITE_IOERR;
    lock = xLock(level: c_int) -> c_int, or ffi::SQLITE_IOERR;
    unlock = xUnlock(level: c_int) -> c_int, or ffi::SQLITE_IOERR;
    reserved = xCheckReservedLock(out: *mut c_int) -> c_int, or ffi::SQLITE_IOERR;
    control = xFileControl(what: c_int, value: *mut c_void) -> c_int, or ffi::SQLITE_NOTFOUND;
    sector = xSectorSize() -> c_int, or 4096;
    kind = xDeviceCharacteristics() -> c_int, or 0;
    map = xShmMap(page: c_int, size: c_int, grow: c_int, out: *mut *mut c_void) -> c_int, or ffi::SQLITE_IOERR;
    shared_lock = xShmLock(at: c_int, many: c_int, flags: c_int) -> c_int, or ffi::SQLITE_IOERR;
    barrier = xShmBarrier() -> (), or ();
    unmap = xShmUnmap(delete: c_int) -> c_int, or ffi::SQLITE_OK;
    fetch = xFetch(at: i64, many: c_int, out: *mut *mut c_void) -> c_int, or ffi::SQLITE_OK;
    unfetch = xUnfetch(at: i64, page: *mut c_void) -> c_int, or ffi::SQLITE_OK;
}

unsafe extern "C" fn write(file: *mut ffi::sqlite3_file, from: *const c_void, many: c_int, at: i64) -> c_int {
    // SAFETY: the file is open, and `many` bytes are to be read.
    unsafe {
        let code = real_write(file, from, many, at);
        if code == ffi::SQLITE_OK
            && let (Some(told), Ok(many), Ok(at)) = (told(file), usize::try_from(many), usize::try_from(at))
        {
            let bytes = slice::from_raw_parts(from.cast::<u8>(), many).to_vec();
            told.changed(Change::Written { at, bytes });
        }
        code
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, to: i64) -> c_int {
    // SAFETY: the file is open.
    unsafe {
        let code = real_truncate(file, to);
        if code == ffi::SQLITE_OK
            && let (Some(told), Ok(to)) = (told(file), usize::try_from(to))
        {
            told.changed(Change::Cut { to });
        }
        code
    }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: the file is open.
    unsafe {
        let code = real_sync(file, flags);
        if code == ffi::SQLITE_OK
            && let Some(told) = told(file)
        {
            told.waited();
        }
        code
    }
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: the file is open, and SQLite uses it no more afterwards.
    unsafe {
        let code = real_close(file);
        (*file.cast::<File>()).told = None;
        code
    }
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 3,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(reserved),
    xFileControl: Some(control),
    xSectorSize: Some(sector),
    xDeviceCharacteristics: Some(kind),
    xShmMap: Some(map),
    xShmLock: Some(shared_lock),
    xShmBarrier: Some(barrier),
    xShmUnmap: Some(unmap),
    xFetch: Some(fetch),
    xUnfetch: Some(unfetch),
};
