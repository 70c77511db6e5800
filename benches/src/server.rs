//! The PostgreSQL server that arms share: started for the run, or one that is there.
//!
//! Must not know which arm uses it. Reached over TCP, as a server usually is.

use std::{
    fs,
    str::FromStr,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::{Context, Result};
use idem_runtime::testing::postgres::Cluster;
use sqlx::{ConnectOptions, Connection, PgConnection, Row, postgres::PgConnectOptions};

/// A server.
#[derive(Debug)]
pub struct Server {
    /// Stopped and removed with this.
    own: Option<Cluster>,
    address: String,
    spaces: AtomicU64,
    /// Schemas that were not dropped yet.
    left: Mutex<Vec<Space>>,
    /// The parent of its processes, where it runs on this machine.
    postmaster: Option<u32>,
    about: String,
}

/// A schema of its own, for the tables of one arm.
#[derive(Debug, Clone)]
pub struct Space {
    /// The address of a connection whose tables are here.
    pub address: String,
    /// What it is called.
    pub name: String,
}

impl Server {
    /// The server at `address`, or one that is started for this.
    ///
    /// # Errors
    /// When there is none.
    pub async fn at(address: Option<&str>) -> Result<Self> {
        let (own, address) = if let Some(address) = address {
            (None, address.to_owned())
        } else {
            // Buffers as a server of this size has them; a checkpoint in the middle of a short run would be most of it, and so
            // would the making of the log's files, which a server that has been running for a while uses again.
            let log = [("max_wal_size", "2GB"), ("min_wal_size", "1GB")];
            let cluster = Cluster::own_with(&[&[("shared_buffers", "256MB")][..], &log].concat())?;
            let address = over_tcp(&cluster.address());
            (Some(cluster), address)
        };
        let mut db = connect(&address).await.context("reach the server")?;
        if own.is_some() {
            grow_log(&mut db).await?;
        }
        let row = sqlx::query(
            "select pg_backend_pid(), current_setting('server_version') || ', ' || (
                 select string_agg(name || '=' || current_setting(name), ' ' order by name) from pg_settings
                 where name in ('fsync', 'synchronous_commit', 'full_page_writes', 'shared_buffers', 'max_wal_size',
                                'wal_sync_method'))",
        )
        .fetch_one(&mut db)
        .await?;
        let (process, about): (i32, String) = (row.try_get(0)?, row.try_get(1)?);
        let postmaster = u32::try_from(process).ok().and_then(parent_of);
        Ok(Self { own, address, spaces: AtomicU64::new(0), left: Mutex::default(), postmaster, about })
    }

    /// The parent of the server's processes, where it runs on this machine.
    pub const fn postmaster(&self) -> Option<u32> {
        self.postmaster
    }

    /// Version and settings.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Its own address, without a schema.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// A schema that is empty.
    ///
    /// # Errors
    /// When it cannot be made.
    pub async fn space(&self) -> Result<Space> {
        let number = self.spaces.fetch_add(1, Ordering::Relaxed);
        let name = format!("idem_bench_{}_{number}", std::process::id());
        let mut db = connect(&self.address).await?;
        sqlx::raw_sql(sqlx::AssertSqlSafe(format!("create schema {name}"))).execute(&mut db).await?;
        if self.own.is_some() {
            // What the last arm filled of the log is used again.
            sqlx::raw_sql("checkpoint").execute(&mut db).await?;
        }
        let sign = if self.address.contains('?') { '&' } else { '?' };
        let space = Space { address: format!("{}{sign}options=-csearch_path%3D{name}", self.address), name };
        self.left().push(space.clone());
        Ok(space)
    }

    /// Tidies up after rows were filled in, so that the server does not in the middle of a run.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn vacuum(&self) -> Result<()> {
        sqlx::raw_sql("vacuum analyze").execute(&mut connect(&self.address).await?).await?;
        Ok(())
    }

    /// Drops every schema that is left, of a server that stays.
    ///
    /// # Errors
    /// When one cannot be dropped.
    pub async fn clear(&self) -> Result<()> {
        let left = std::mem::take(&mut *self.left());
        for space in if self.own.is_some() { Vec::new() } else { left } {
            self.remove(&space).await?;
        }
        Ok(())
    }

    fn left(&self) -> MutexGuard<'_, Vec<Space>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops a schema with all that is in it.
    ///
    /// # Errors
    /// When it cannot be dropped.
    pub async fn remove(&self, space: &Space) -> Result<()> {
        let mut db = connect(&self.address).await?;
        let drop = format!("drop schema {} cascade", space.name);
        sqlx::raw_sql(sqlx::AssertSqlSafe(drop)).execute(&mut db).await?;
        self.left().retain(|other| other.name != space.name);
        Ok(())
    }
}

/// Options of a connection to this address.
///
/// # Errors
/// When it is no address.
pub fn options(address: &str) -> Result<PgConnectOptions> {
    Ok(PgConnectOptions::from_str(address)?.disable_statement_logging())
}

/// One connection, not of a pool.
///
/// # Errors
/// When there is no such server.
pub async fn connect(address: &str) -> Result<PgConnection> {
    Ok(PgConnection::connect_with(&options(address)?).await?)
}

/// How many files the log has, of 16 MB each.
const LOG_FILES: usize = 64;

/// Fills the log once around.
async fn grow_log(db: &mut PgConnection) -> Result<()> {
    for _ in 0..LOG_FILES {
        let fill = "select pg_logical_emit_message(false, 'idem', 'filled'), pg_switch_wal()";
        sqlx::raw_sql(fill).execute(&mut *db).await?;
    }
    sqlx::raw_sql("checkpoint").execute(db).await?;
    Ok(())
}

/// The address without its socket's folder and its schema.
fn over_tcp(address: &str) -> String {
    let Some((server, parameters)) = address.split_once('?') else { return address.to_owned() };
    let kept: Vec<&str> = parameters
        .split('&')
        .filter(|parameter| !parameter.starts_with("host=/") && !parameter.starts_with("options="))
        .collect();
    if kept.is_empty() { server.to_owned() } else { format!("{server}?{}", kept.join("&")) }
}

/// The parent of a process of PostgreSQL on this machine.
fn parent_of(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (name, fields) = stat.rsplit_once(')')?;
    let parent = fields.split_whitespace().nth(1)?.parse().ok()?;
    name.contains("(post").then_some(parent)
}
