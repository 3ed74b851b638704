//! Tests of the stores of callers: they are separate from each other and from the plugin's, are limited by two quotas,
//! and can be deleted by the caller's name.

use super::*;

const MIB: usize = 1 << 20;

/// One MiB for each caller, two MiB for all callers.
const QUOTA: CallerQuota = CallerQuota { each_mib: 1, all_mib: 2 };

fn memory() -> Arc<KvDatabase> {
    KvDatabase::in_memory().unwrap()
}

fn of_caller(database: &Arc<KvDatabase>, plugin: &str, caller: &str) -> KvBucket {
    KvBucket::of_caller(Arc::clone(database), plugin.into(), caller, QUOTA)
}

fn of_plugin(database: &Arc<KvDatabase>, plugin: &str) -> KvBucket {
    KvBucket::new(Arc::clone(database), plugin.into(), 1)
}

fn set(bucket: &KvBucket, key: &str, bytes: usize) -> Result<(), KvError> {
    bucket.set_many(&[(key.to_owned(), vec![7; bytes])])
}

fn keys(bucket: &KvBucket) -> Vec<String> {
    bucket.keys(None).unwrap().0
}

#[test]
fn no_name_leads_to_the_store_of_another() {
    let database = memory();
    let names = ["token:a", "token:ab", "token:a/", "oauth:https://i#a", "oauth:https://i/#a", "", "\0", "é"];
    let long = "x".repeat(4_000);
    let mut stores: Vec<KvBucket> = Vec::new();
    for plugin in ["p", "pq", "p.q"] {
        stores.push(of_plugin(&database, plugin));
        stores.extend(names.iter().chain([&&*long]).map(|caller| of_caller(&database, plugin, caller)));
    }
    // A plugin whose name looks like the id of a caller.
    let id = KvOwner::caller("p".into(), "token:a").id;
    stores.push(of_plugin(&database, &id));
    for (at, store) in stores.iter().enumerate() {
        set(store, &format!("k{at}"), 1).unwrap();
        assert_eq!(store.increment("same", at as i64).unwrap(), at as i64);
    }
    for (at, store) in stores.iter().enumerate() {
        assert_eq!(keys(store), [format!("k{at}"), "same".to_owned()]);
        assert_eq!(store.get(&format!("k{}", (at + 1) % stores.len())).unwrap(), None);
    }
}

#[test]
fn a_change_of_the_grant_leads_to_no_other_store_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let open = || KvDatabase::new(dir.path().to_owned());
    set(&of_plugin(&open(), "p"), "shared", 1).unwrap();
    set(&of_caller(&open(), "p", "token:a"), "own", 1).unwrap();
    assert_eq!(keys(&of_plugin(&open(), "p")), ["shared"]);
    assert_eq!(keys(&of_caller(&open(), "p", "token:a")), ["own"]);
}

#[test]
fn a_full_store_takes_nothing_from_another_caller() {
    let database = memory();
    let (a, b) = (of_caller(&database, "p", "token:a"), of_caller(&database, "p", "token:b"));
    assert!(matches!(set(&a, "k", MIB), Err(KvError::OverQuota(1))));
    set(&a, "k", MIB - 200).unwrap();
    assert!(matches!(set(&a, "l", 100), Err(KvError::OverQuota(1))));
    set(&b, "k", MIB - 200).unwrap();
}

#[test]
fn all_callers_of_a_plugin_have_a_quota_together() {
    let database = memory();
    let callers = ["token:a", "token:b", "token:c"].map(|caller| of_caller(&database, "p", caller));
    let [a, b, c] = &callers;
    set(a, "k", MIB - 200).unwrap();
    set(b, "k", MIB - 200).unwrap();
    assert!(matches!(set(c, "k", 1_000), Err(KvError::OverTotal(2))));
    // A rejected write is not counted. Other plugins, and the plugin's own store, have their own quotas.
    assert!(matches!(set(c, "k", 1_000), Err(KvError::OverTotal(2))));
    assert_eq!(keys(c), [""; 0]);
    set(&of_caller(&database, "q", "token:c"), "k", MIB - 200).unwrap();
    set(&of_plugin(&database, "p"), "k", MIB - 200).unwrap();
    // If a quota is reduced below what is used, values can still be read, made smaller and deleted.
    let smaller = CallerQuota { each_mib: 1, all_mib: 1 };
    let a = KvBucket::of_caller(Arc::clone(&database), "p".into(), "token:a", smaller);
    set(&a, "k", MIB / 2).unwrap();
    assert!(matches!(set(&a, "k", MIB / 2 + 1), Err(KvError::OverTotal(1))));
    a.delete_many(&["k".to_owned()]).unwrap();
    b.delete_many(&["k".to_owned()]).unwrap();
    set(c, "k", MIB - 200).unwrap();
}

#[test]
fn a_caller_that_stores_nothing_is_not_counted() {
    let database = memory();
    let a = of_caller(&database, "p", "token:a");
    set(&a, "k", 1).unwrap();
    a.delete_many(&["k".to_owned(), "none".to_owned()]).unwrap();
    assert!(database.forget_caller("token:a").unwrap().is_empty());
}

#[test]
fn a_forgotten_caller_has_nothing_and_the_others_have_everything() {
    let database = memory();
    let store = |plugin: &str, caller: &str| of_caller(&database, plugin, caller);
    for (plugin, caller) in [("p", "token:a"), ("p", "token:b"), ("q", "token:a"), ("q", "token:ab")] {
        set(&store(plugin, caller), "k", MIB - 200).unwrap();
    }
    set(&of_plugin(&database, "p"), "k", 1).unwrap();
    let deleted = database.forget_caller("token:a").unwrap();
    let plugins: Vec<&str> = deleted.iter().map(|store| store.plugin.as_str()).collect();
    assert_eq!(plugins, ["p", "q"]);
    assert!(deleted.iter().all(|store| store.bytes > 1_000_000 && store.bytes <= MIB as u64));
    assert!(keys(&store("p", "token:a")).is_empty() && keys(&store("q", "token:a")).is_empty());
    for kept in [store("p", "token:b"), store("q", "token:ab"), of_plugin(&database, "p")] {
        assert_eq!(keys(&kept), ["k"]);
    }
    assert!(database.forget_caller("token:a").unwrap().is_empty());
    // The common quota of all callers has space again.
    set(&store("p", "token:c"), "k", MIB - 200).unwrap();
}
