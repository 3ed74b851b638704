use super::*;

fn parse(text: &str) -> Result<Config, ConfigError> {
    let base = std::env::temp_dir();
    Config::parse(text, &base.join("plugport.toml"), base.join("no-such-plugins"))
}

#[test]
fn a_plugin_inherits_the_common_limits_and_overrides_some() {
    let config = parse("[limits]\nwall_ms = 7\n[plugins.a]\nprefix = \"\"\nlimits = { fuel = 9 }\n").unwrap();
    let plugin = config.plugin("a");
    assert_eq!((plugin.limits.wall_ms, plugin.limits.fuel, plugin.prefix.as_str()), (7, 9, ""));
    assert_eq!(config.plugin("b").prefix, "b");
    assert_eq!(config.plugin("b").grants, Grants::default());
}

#[test]
fn every_mistake_is_reported_at_once_with_its_line_and_key() {
    let text = "colour = 1\n[server]\nlisten = \"nowhere\"\n[limits]\nwal_ms = 5\nfuel = \"many\"\nmemory_mib = 4096\n\
                [plugins.files.grants]\ndirs = [\"./no/such/dir\", { guest = \"/x\" }]\n";
    let message = parse(text).unwrap_err().to_string();
    for expected in [
        "7 mistakes in",
        "plugport.toml:1: colour: unknown key",
        ":3: server.listen: `nowhere` is not an address",
        ":5: limits.wal_ms: unknown key; did you mean `wall_ms`?",
        ":6: limits.fuel: must be a whole number from 1 to 1000000000000, found a string",
        ":7: limits.memory_mib: must be a whole number from 1 to 1024, found 4096",
        ":9: plugins.files.grants.dirs: cannot grant",
        "needs `host`",
    ] {
        assert!(message.contains(expected), "{expected:?} is not in:\n{message}");
    }
}

#[test]
fn variables_values_and_secrets_are_granted_one_by_one() {
    let text = "[plugins.a.grants]\nenv = [\"PATH\", { TZ = \"UTC\" }]\n\
                config = { region = \"eu\", retries = 3, mask = 0xff, ratio = 0.50, on = true, day = 2026-11-21 }\n\
                secrets = { token = { env = \"PATH\" } }\n";
    let grants = parse(text).unwrap().plugin("a").grants;
    let names: Vec<_> = grants.env.iter().map(|variable| variable.name.as_str()).collect();
    assert_eq!(names, ["PATH", "TZ"]);
    let values: Vec<_> = grants.config.values.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(values, ["day=2026-11-21", "mask=255", "on=true", "ratio=0.50", "region=eu", "retries=3"]);
    assert!(grants.config.secrets.get("token").is_some_and(|token| !token.expose_secret().is_empty()));
}

#[test]
fn instances_are_fresh_unless_said_otherwise() {
    let text = "[plugins.a]\ninstances = \"reuse\"\n[plugins.b]\ninstances = \"fresh\"\n";
    let config = parse(text).unwrap();
    let instances = |name| config.plugin(name).instances;
    assert_eq!((instances("a"), instances("b")), (InstanceMode::Reuse, InstanceMode::Fresh));
    assert_eq!(instances("c"), InstanceMode::Fresh);
    let dir = tempfile::tempdir().unwrap();
    let text = "[plugins.a]\ninstances = \"pooled\"\n[plugins.b]\ninstances = \"reuse\"\n\
                grants = { roots = { read = [\".\"] } }\n[plugins.c]\ninstances = \"reuse\"\ngrants = { roots = true }\n";
    let read = Config::parse(text, &dir.path().join("plugport.toml"), dir.path().join("plugins"));
    let message = read.unwrap_err().to_string();
    for expected in [
        "2 mistakes in",
        ":2: plugins.a.instances: must be \"fresh\" or \"reuse\"",
        ":4: plugins.b.instances: \"reuse\" does not go with the grant `roots` to read",
    ] {
        assert!(message.contains(expected), "{expected:?} is not in:\n{message}");
    }
}

#[test]
fn a_secret_in_a_directory_of_another_plugin_is_warned_about() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("token"), "hunter2!").unwrap();
    let text = "[plugins.a.grants]\ndirs = [\".\"]\nsecrets = { token = { file = \"token\" } }\n\
                [plugins.b.grants]\ndirs = [\".\"]\n";
    let config = Config::parse(text, &dir.path().join("plugport.toml"), dir.path().join("plugins")).unwrap();
    let warnings = config.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("`b` may read") && warnings[0].contains("of `a`"), "{warnings:?}");
}

#[test]
fn mistakes_in_them_are_reported_with_line_and_key() {
    let text = "[plugins.a.grants]\nenv = [\"A=B\", \"LANG\", \"LANG\", 5, { TZ = 1 }]\n\
                config = { list = [1], token = \"x\" }\n[plugins.a.grants.secrets]\n\
                none = { env = \"PLUGPORT_NO_SUCH_VARIABLE\" }\nfile = { file = \"no-such-file\" }\n\
                plain = \"hunter2!\"\nboth = { env = \"PATH\", file = \"x\" }\ntoken = { env = \"PATH\" }\n\
                typo = { env = \"PATH\", fiel = \"x\" }\n";
    let message = parse(text).unwrap_err().to_string();
    for expected in [
        ":2: plugins.a.grants.env: `A=B` is no name of a variable",
        ":2: plugins.a.grants.env: `LANG` is granted twice",
        ":2: plugins.a.grants.env: expected a table, found a number",
        ":2: plugins.a.grants.env.TZ: expected a string, found a number",
        ":3: plugins.a.grants.config.list: must be a string, a number",
        ":5: plugins.a.grants.secrets.none: the server's environment has no variable `PLUGPORT_NO_SUCH_VARIABLE`",
        ":6: plugins.a.grants.secrets.file: cannot read the file",
        ":7: plugins.a.grants.secrets.plain: say where the secret is",
        ":8: plugins.a.grants.secrets.both: it needs either `env`",
        ":9: plugins.a.grants.secrets.token: `token` is there twice",
        ":10: plugins.a.grants.secrets.typo.fiel: unknown key; did you mean `file`?",
    ] {
        assert!(message.contains(expected), "{expected:?} is not in:\n{message}");
    }
    assert!(!message.contains("hunter2"), "a secret was repeated:\n{message}");
}

#[test]
fn text_that_is_not_toml_names_the_line() {
    let message = parse("[server\nlisten = 1").unwrap_err().to_string();
    assert!(message.contains("plugport.toml:1:"), "{message}");
}

#[test]
fn the_listener_of_metrics_is_off_and_its_mistakes_name_its_own_port() {
    assert_eq!(parse("").unwrap().telemetry.listen, None);
    let listening = parse("[telemetry]\nlisten = \"[::1]:9464\"\n").unwrap();
    assert_eq!(listening.telemetry.listen, Some("[::1]:9464".parse().unwrap()));
    assert!(!parse("").unwrap().needs_no_restart_after(&listening));
    let message = parse("[telemetry]\nlisten = \"0.0.0.0\"\nport = 1\n").unwrap_err().to_string();
    for expected in
        [":2: telemetry.listen: `0.0.0.0` is not", "such as 0.0.0.0:9464", ":3: telemetry.port: unknown key"]
    {
        assert!(message.contains(expected), "{expected:?} is not in:\n{message}");
    }
}

#[test]
fn the_end_of_the_server_is_bounded() {
    let shutdown = |text: &str| parse(text).map(|config| config.server.shutdown.as_secs());
    assert_eq!(shutdown("").unwrap(), 5);
    assert_eq!(shutdown("[server]\nshutdown_s = 0\n").unwrap(), 0);
    assert_eq!(shutdown("[server]\nshutdown_s = 3600\n").unwrap(), 3600);
    assert!(shutdown("[server]\nshutdown_s = 3601\n").is_err());
}

#[test]
fn calls_are_bridged_for_all_plugins_or_for_one() {
    let text = "[server]\ntask_bridge = true\n[plugins.a]\ntask_bridge = false\n[plugins.b]\n";
    let config = parse(text).unwrap();
    assert_eq!(["a", "b", "c"].map(|name| config.plugin(name).task_bridge), [false, true, true]);
    let one = parse("[plugins.a]\ntask_bridge = true\n").unwrap();
    assert_eq!(["a", "b"].map(|name| one.plugin(name).task_bridge), [true, false]);
    assert!(one.needs_no_restart_after(&config));
}
