//! What the other tests rest on: servers of one's own that die, come back, follow and take over.

use std::{
    net::{Ipv4Addr, TcpStream},
    process,
};

use idem_runtime::testing::postgres::Cluster;
use idem_tests::timing::until;

use crate::child::{self, Child};

/// An owner's roles: each ends without dropping its server.
const STANDS: &str = "stands";
const LEAVES: &str = "leaves";

/// Plays an owner.
pub(crate) fn owns(role: &str) {
    let cluster = Cluster::own().expect("a server");
    child::say(&cluster.port().expect("a port").to_string());
    if role == LEAVES {
        child::hear();
        process::exit(0);
    }
    while child::hear().is_some() {}
}

#[test]
fn a_killed_server_comes_back_with_what_it_had() {
    let cluster = Cluster::own_with(&[("max_connections", "23"), ("cluster_name", "it's")]).expect("a server");
    assert_eq!(cluster.ask("show max_connections").expect("a setting"), "23");
    assert_eq!(cluster.ask("show cluster_name").expect("a setting"), "it's");
    cluster.say("create table kept (n int)").expect("a table");
    for round in 1..=3 {
        cluster.say("insert into kept values (1)").expect("a row");
        cluster.kill().expect("a crash");
        assert!(cluster.ask("select 1").is_err(), "a killed server answers");
        cluster.start_again().expect("a start");
        assert_eq!(cluster.ask("select count(*) from kept").expect("rows"), round.to_string());
    }
    cluster.restart().expect("a restart");
    assert_eq!(cluster.ask("select count(*) from kept").expect("rows"), "3");
}

#[test]
fn servers_stand_side_by_side_and_go_with_their_tests() {
    let servers: Vec<_> = (0..3).map(|_| std::thread::spawn(Cluster::own)).collect();
    let servers: Vec<_> = servers.into_iter().map(|own| own.join().expect("no panic").expect("a server")).collect();
    let folders: Vec<String> =
        servers.iter().map(|server| server.ask("show data_directory").expect("a folder")).collect();
    assert!(folders[0] != folders[1] && folders[1] != folders[2]);
    let died = std::thread::spawn(move || {
        assert!(servers.is_empty(), "a test that fails");
    });
    died.join().expect_err("it failed");
    for folder in folders {
        assert!(!std::path::Path::new(&folder).exists(), "{folder} was left behind");
    }
}

/// A test process is killed where it runs too long, and by the test that started it.
#[tokio::test]
async fn a_server_goes_with_its_owner_however_that_ends() {
    for (role, made) in [(STANDS, true), (STANDS, false), (LEAVES, true)] {
        let mut owner = Child::start(role, &std::env::temp_dir());
        let folder = std::env::temp_dir().join(format!("idem-pg-{}-0", owner.process.id()));
        let port = made.then(|| owner.hear().parse().expect("a port"));
        // Where it is not made, it is being made at this moment.
        until("a server's data", async || folder.join("data/base").exists().then_some(())).await;
        let answers = |port: u16| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        assert!(port.is_none_or(answers), "it is not running");
        if role == LEAVES {
            owner.say("leave");
            assert!(owner.process.wait().expect("its end").success());
        }
        // Kills whoever is there.
        drop(owner);
        until("the end of the folder", async || (!folder.exists()).then_some(())).await;
        assert!(!port.is_some_and(answers), "its server was left behind");
    }
}

#[test]
fn a_standby_follows_and_takes_over() {
    let primary = Cluster::own().expect("a server");
    let standby = primary.standby("second").expect("a standby");
    primary.wait_for_standby("second").expect("a synchronous standby");
    primary.say("create table kept (n int)").expect("a table");
    standby.until("select count(*) from kept", "0").expect("it follows");
    standby.pause_replay().expect("a pause");
    primary.set("synchronous_commit", "on").expect("a setting");
    primary.say("insert into kept values (1)").expect("received, not shown");
    assert_eq!(standby.ask("select count(*) from kept").expect("rows"), "0");
    standby.resume_replay().expect("going on");
    standby.until("select count(*) from kept", "1").expect("it follows");
    primary.set("synchronous_standby_names", "").expect("nobody is waited for");
    standby.stop_following().expect("it lets go");
    primary.say("insert into kept values (2)").expect("not received");
    assert_eq!(standby.ask("select pg_is_in_recovery()").expect("an answer"), "t");
    primary.kill().expect("a crash");
    standby.promote().expect("a new primary");
    assert_eq!(standby.ask("select pg_is_in_recovery()").expect("an answer"), "f");
    standby.say("insert into kept values (3)").expect("it writes");
    assert_eq!(standby.ask("select array_agg(n) from kept").expect("rows"), "{1,3}");
    standby.demote().expect("a standby again");
    standby.say("insert into kept values (4)").expect_err("it only reads");
}
