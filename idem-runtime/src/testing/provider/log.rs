//! The provider's own file: what it was asked and what happened, one JSON line each.
//!
//! It outlives a `kill -9` of whoever asked, and several processes share it by its path: what a line says was decided
//! while the file was held. Must not know who asks.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    habits::Habits,
    request::{Effect, ProviderError, Reply, Request},
};
use crate::Timestamp;

/// One line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// It arrived.
    Request(Request),
    /// It happened.
    Effect(Effect),
}

/// The file, wherever it is opened.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    path: PathBuf,
}

/// Everything in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Contents {
    pub(crate) requests: Vec<Request>,
    pub(crate) effects: Vec<Effect>,
}

impl Log {
    pub(crate) fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// A request arrives and is carried out, as the provider's habits have it.
    pub(crate) fn carry_out(&self, request: &Request, habits: &Habits, now: Timestamp) -> Result<Reply, ProviderError> {
        let carried_out = self.held(|file| {
            let Contents { effects, .. } = read(file)?;
            let mut lines = vec![Line::Request(request.clone())];
            let replied = judge(request, &effects, habits, now, &mut lines);
            append(file, &lines)?;
            Ok(replied)
        });
        // A provider without its file is one that cannot be reached.
        carried_out.unwrap_or(Err(ProviderError::Unavailable))
    }

    /// What it holds now.
    pub(crate) fn contents(&self) -> io::Result<Contents> {
        match File::open(&self.path) {
            Ok(mut file) => {
                file.lock_shared()?;
                read(&mut file)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Contents::default()),
            Err(error) => Err(error),
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) -> io::Result<()> {
        self.held(|file| file.set_len(0))
    }

    fn held<T>(&self, work: impl FnOnce(&mut File) -> io::Result<T>) -> io::Result<T> {
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(&self.path)?;
        file.lock()?;
        // Closing the file lets go of it.
        work(&mut file)
    }
}

/// What becomes of a request.
fn judge(
    request: &Request,
    effects: &[Effect],
    habits: &Habits,
    now: Timestamp,
    lines: &mut Vec<Line>,
) -> Result<Reply, ProviderError> {
    if let Some(why) = &habits.declines {
        return Err(ProviderError::Declined(why.clone()));
    }
    let remembers = |effect: &&Effect| habits.keys.is_some_and(|window| now < effect.at.after(window));
    let same_key = |effect: &&Effect| request.key.is_some() && effect.request.key == request.key;
    let known = effects.iter().filter(remembers).filter(same_key).find(|it| it.request.effect == request.effect);
    if let Some(known) = known {
        if known.request != *request {
            return Err(ProviderError::Declined("its key was used for another request".to_owned()));
        }
        return Ok(Reply::of(known, true));
    }
    let reference = format!("fx_{}", effects.len() + 1);
    let effect = Effect { reference, request: request.clone(), at: now };
    let reply = Reply::of(&effect, false);
    lines.push(Line::Effect(effect));
    Ok(reply)
}

fn read(file: &mut File) -> io::Result<Contents> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_string(&mut text)?;
    let mut contents = Contents::default();
    for line in text.lines() {
        match serde_json::from_str(line)? {
            Line::Request(request) => contents.requests.push(request),
            Line::Effect(effect) => contents.effects.push(effect),
        }
    }
    Ok(contents)
}

fn append(file: &mut File, lines: &[Line]) -> io::Result<()> {
    let mut text = String::new();
    for line in lines {
        text.push_str(&serde_json::to_string(line)?);
        text.push('\n');
    }
    file.write_all(text.as_bytes())?;
    file.sync_data()
}
