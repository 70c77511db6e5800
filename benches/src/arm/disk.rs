//! The disk alone: two syncs a call, nothing else.

use std::{
    fs::OpenOptions,
    io::{Seek, SeekFrom, Write},
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Result;

use crate::load::Sample;

const BLOCK: usize = 4_096;

/// Overwrites a block and syncs, twice a call.
///
/// # Errors
/// When the file cannot be written.
pub fn run(folder: &Path, span: Duration) -> Result<Sample> {
    let path = folder.join("disk");
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).open(path)?;
    file.write_all(&vec![0; 64 * BLOCK])?;
    file.sync_all()?;
    let block = [7; BLOCK];
    let begun = Instant::now();
    let mut latencies = Vec::new();
    while begun.elapsed() < span {
        let call = Instant::now();
        for at in 0..2 {
            file.seek(SeekFrom::Start(at * BLOCK as u64))?;
            file.write_all(&block)?;
            file.sync_data()?;
        }
        latencies.push(call.elapsed());
    }
    Ok(Sample::new(begun.elapsed(), latencies))
}
