use super::*;
use crate::sandbox::engine;
use crate::{capability, config};

fn linked(component: &str) -> Result<(Interfaces, InstancePre<InstanceCtx>, Exports), LoadError> {
    let engine = engine(&config::ServerConfig::default()).unwrap();
    let mut linker = Linker::new(&engine);
    capability::add_to_linker(&mut linker).unwrap();
    let component = Component::new(&engine, wat::parse_str(component).unwrap()).unwrap();
    link(&linker, &component, &DocsSection::of(&[]), &Limits::default())
}

#[test]
fn a_component_for_another_version_is_told_both_and_what_to_do() {
    let request = |version| format!("(import \"plugport:plugin/request@{version}\" (instance))");
    let tools =
        |version| format!("(instance $tools) (export \"plugport:plugin/tools@{version}\" (instance $tools))");
    for (component, expected) in [
        (
            request("0.1.0") + &tools("0.9.0"),
            "was built for plugport:plugin@0.9.0, whose tools it exports; this server",
        ),
        (
            request("0.9.0") + &tools("0.1.0"),
            "was built for plugport:plugin@0.9.0, whose request it imports; this server",
        ),
        (request("1.0.0"), "was built for plugport:plugin@1.0.0, whose request it imports; this server"),
    ] {
        let Err(error) = linked(&format!("(component {component})")) else { panic!("{component}") };
        let error = error.to_string();
        assert!(
            error.starts_with(expected) && error.contains("speaks plugport:plugin@0.1.0, so rebuild"),
            "{error}"
        );
    }
    let Err(error) = linked("(component)") else { panic!() };
    assert!(matches!(error, LoadError::OtherWorld { .. }), "{error}");
}

/// A component with a function that imports these functions of `wasi:config`, whose error has this name.
fn reading_settings(interface: &str, error: &str) -> String {
    format!(
        r#"(component
             (import "{interface}" (instance
               (type $error' (variant (case "upstream" string) (case "io" string)))
               (export "{error}" (type $error (eq $error')))
               (export "get" (func (param "key" string) (result (result (option string) (error $error)))))
               (export "get-all" (func (result (result (list (tuple string string)) (error $error)))))))
             (core module $m (func (export "answer") (result i32) (i32.const 42)))
             (core instance $i (instantiate $m))
             (func (export "answer") (result u32) (canon lift (core func $i "answer"))))"#
    )
}

#[test]
fn drafts_of_an_interface_that_differ_in_names_are_linked() {
    for (interface, error) in [
        ("wasi:config/store@0.2.0-rc.1", "error"),
        ("wasi:config/store@0.2.0-draft", "config-error"),
        ("wasi:config/store@0.2.0-draft", "error"),
        ("wasi:config/runtime@0.2.0-draft", "config-error"),
    ] {
        let linked = linked(&reading_settings(interface, error));
        assert!(linked.is_ok(), "{interface}: {:?}", linked.err());
    }
}

#[test]
fn a_missing_import_is_named_with_its_version_and_what_there_is_instead() {
    let importing = |name: &str| {
        format!(
            r#"(component
                 (import "{name}" (instance (export "get" (func (result u32)))))
                 (core module $m (func (export "answer") (result i32) (i32.const 42)))
                 (core instance $i (instantiate $m))
                 (func (export "answer") (result u32) (canon lift (core func $i "answer"))))"#
        )
    };
    for (name, here) in [
        (
            "wasi:keyvalue/store@0.2.0-draft",
            ", and this server has wasi:keyvalue in version 0.2.0-draft2; build",
        ),
        ("wasi:nn/graph@0.2.0", ", which this server does not have; build it without"),
    ] {
        let Err(error) = linked(&importing(name)) else { panic!("{name}") };
        assert!(error.to_string().starts_with(&format!("imports {name}{here}")), "{error}");
        assert!(error.is_permanent());
    }
    // The interface is there, and its function has another type.
    let Err(error) = linked(&importing("wasi:config/store@0.2.0-draft")) else { panic!() };
    assert!(matches!(error, LoadError::Unlinkable(_)), "{error}");
}

#[test]
fn what_a_component_was_made_for_is_told_where_its_interfaces_are_at_fault() {
    let act = Some(OtherHost::Act);
    let other = || LoadError::OtherWorld { exports: "act:tools/tool-provider@0.2.0".to_owned(), kind: "" };
    assert!(matches!(for_other_host(other(), act.as_ref()), LoadError::OtherHost(OtherHost::Act)));
    assert!(matches!(for_other_host(other(), None), LoadError::OtherWorld { .. }));
    let slow = LoadError::Compile(CompileError::Slow(1));
    assert!(matches!(for_other_host(slow, act.as_ref()), LoadError::Compile(CompileError::Slow(1))));
}
