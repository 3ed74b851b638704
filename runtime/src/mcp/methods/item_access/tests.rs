//! A property test over the policy, the snapshot of a caller and the checks of handlers: an item is in a list exactly
//! if its use is not answered as unknown, and exactly if the rules, read one by one, show it.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use super::*;
use crate::access::AuthenticatedCaller;
use crate::access::policy::tests::{PolicyCase, for_each_case, is_visible};
use crate::catalog::{PluginEntry, Snapshot};
use crate::config::{Config, RequiredScopes, ServerConfig};
use crate::observe::Audit;
use crate::plugin::{ComponentFile, Listing, Loader, Prompt, ResourceDescriptor, ResourceTemplate, Tool};
use crate::sandbox::{Compiler, KvDatabase};

const CONFIG: &str = "[plugins.a]\nscopes = [\"s1\"]\n[plugins.ab.tools.cb]\nscopes = [\"s2\"]\n";

/// A component with one function, which is not called.
const COMPONENT: &str = r#"(component
    (core module $m (func (export "f") (result i32) i32.const 1))
    (core instance $i (instantiate $m))
    (func (export "f") (result u32) (canon lift (core func $i "f"))))"#;

type Names = &'static [&'static str];

/// Each plugin with the names of its tools and prompts, its resources, and its templates.
const PLUGINS: [(&str, Names, Names, Names); 3] = [
    ("a", &["b", "c"], &["a:x", "a:x/y", "a:*"], &["a:{id}", "a:x/{id}"]),
    ("ab", &["b", "cb"], &["ab:x"], &[]),
    ("b", &["b"], &["b://h/x"], &["b://h/{+path}"]),
];

/// URIs that no plugin lists, some of which are spellings of listed ones.
const UNLISTED: [&str; 8] =
    ["a:z", "a:x/z", "a:%78", "a:%78%2Fy", "a:x//y", "b://h/z", "b://h/x/../x", "ab:z"];

/// The apps of tools, by plugin and tool: one that matches a template of the plugin, one that it lists, one of another
/// plugin, and one that nobody publishes.
const APPS: [(&str, &str, &str); 5] = [
    ("a", "b", "a:z"),
    ("a", "c", "a:x"),
    ("ab", "b", "b://h/x"),
    ("ab", "cb", "ab:z"),
    ("b", "b", "b://h/z"),
];

fn listing(plugin: &str, names: &[&str], uris: &[&str], templates: &[&str]) -> Listing {
    let extra = |tool: &str| {
        let (_, _, uri) = APPS.iter().find(|(owner, name, _)| (*owner, *name) == (plugin, tool))?;
        Some(json!({ "_meta": { "ui": { "resourceUri": uri } } }).to_string())
    };
    let tool = |name: &&str| Tool {
        name: (*name).to_owned(),
        title: None,
        description: None,
        input_schema: r#"{"type":"object"}"#.to_owned(),
        output_schema: None,
        annotations: None,
        extra: extra(name),
    };
    let prompt = |name: &&str| Prompt {
        name: (*name).to_owned(),
        title: None,
        description: None,
        arguments: Vec::new(),
        extra: None,
    };
    let resource = |uri: &&str| ResourceDescriptor {
        uri: (*uri).to_owned(),
        name: "r".to_owned(),
        title: None,
        description: None,
        mime_type: None,
        annotations: None,
        extra: None,
    };
    let template = |uri: &&str| ResourceTemplate {
        uri_template: (*uri).to_owned(),
        name: "t".to_owned(),
        title: None,
        description: None,
        mime_type: None,
        annotations: None,
        extra: None,
    };
    Listing {
        tools: names.iter().map(tool).collect(),
        resources: uris.iter().map(resource).collect(),
        templates: templates.iter().map(template).collect(),
        prompts: names.iter().map(prompt).collect(),
    }
}

/// A plugin that lists other items than its component.
async fn entry(folder: &Path, config: &Config, (name, listing): (&str, Listing)) -> PluginEntry {
    let file = folder.join("any.wasm");
    std::fs::write(&file, wat::parse_str(COMPONENT).unwrap()).unwrap();
    let server = ServerConfig { suspended_calls: 0, ..ServerConfig::default() };
    let store = KvDatabase::in_memory().unwrap();
    let loader =
        Loader::without_pooling_allocator(&server, store, Audit::disabled(), Compiler::in_process()).unwrap();
    let settings = config.plugin(name);
    let file = ComponentFile::read(&file, settings.limits.wasm_mib).unwrap();
    PluginEntry::validate(loader.load(name, file, settings).await.unwrap()).with_listing(listing)
}

/// A snapshot of the plugins.
async fn snapshot(folder: &Path, config: &Config) -> Snapshot {
    let mut entries = Vec::new();
    for (name, names, uris, templates) in PLUGINS {
        entries.push(entry(folder, config, (name, listing(name, names, uris, templates))).await);
    }
    let snapshot = Snapshot::new(entries);
    let lengths = (snapshot.tools().items().len(), snapshot.prompts().items().len());
    assert_eq!(lengths, (5, 5));
    assert_eq!((snapshot.resources().items().len(), snapshot.templates().items().len()), (5, 3));
    snapshot
}

fn item<'a>(plugin: &'a str, kind: ItemKind, name: &'a str, template: Option<&'a str>) -> Item<'a> {
    Item { plugin, kind, name, template, hints: Hints::default(), scopes: &[] }
}

fn is_known(checked: &Result<AllowingRoles, AccessError>) -> bool {
    !matches!(checked, Err(AccessError::Hidden))
}

/// One policy and caller, with the caller's view of `all` items.
struct ViewCase<'c> {
    all: &'c Snapshot,
    view: CatalogView,
    caller: Caller,
    case: &'c PolicyCase,
}

impl<'c> ViewCase<'c> {
    fn new(all: &'c Snapshot, case: &'c PolicyCase, scopes: &BTreeMap<String, RequiredScopes>) -> Self {
        let policy = Arc::new(Policy::new(&case.config).with_scopes(scopes.clone()));
        let caller = match (&case.principal, case.address) {
            (Some(principal), address) => {
                Caller::Principal(AuthenticatedCaller { principal: Arc::new(principal.clone()), address })
            }
            (None, Some(address)) => Caller::Address(address),
            (None, None) => Caller::Unknown,
        };
        let roles = policy.roles_of(&caller.subject());
        let access = CallerView { policy, roles };
        let snapshot = Arc::new(all.visible_to(access.clone()));
        Self { all, view: CatalogView { snapshot, is_complete: true, access: Some(access) }, caller, case }
    }

    fn is_shown(&self, item: &Item<'_>) -> bool {
        is_visible(&self.case.held(), item)
    }

    fn check_uri(&self, plugin: &Arc<Plugin>, uri: &str, template: Option<&MatchedTemplate>) -> bool {
        is_known(&check_uri(&self.view, &self.caller, plugin, ("resources/read", uri), template))
    }

    /// Each item with whether the rules show it, whether it is listed, and whether its use is known.
    fn listed_items(&self) -> Vec<(String, [bool; 3])> {
        let (all, visible) = (self.all, &self.view.snapshot);
        let mut items = Vec::new();
        for tool in all.tools().items() {
            let shown = self.is_shown(&item(tool.plugin.name(), ItemKind::Tool, &tool.name, None));
            let listed = visible.tools().items().iter().any(|other| other.name == tool.name);
            let known = is_known(&check_tool(&self.view, &self.caller, tool, "{}"));
            assert_eq!(listed, visible.tool(&tool.name).is_some());
            items.push((format!("tool {}", tool.name), [shown, listed, known]));
        }
        for prompt in all.prompts().items() {
            let shown = self.is_shown(&item(prompt.plugin.name(), ItemKind::Prompt, &prompt.name, None));
            let listed = visible.prompts().items().iter().any(|other| other.name == prompt.name);
            let arguments = ("prompts/get", Some("{}"));
            let known = is_known(&check_prompt(&self.view, &self.caller, prompt, arguments));
            assert_eq!(listed, visible.prompt(&prompt.name).is_some());
            items.push((format!("prompt {}", prompt.name), [shown, listed, known]));
        }
        for resource in all.resources().items() {
            let uri = resource.resource.uri.as_str();
            let shown = self.is_shown(&item(resource.plugin.name(), ItemKind::Resource, uri, None));
            let listed = visible.resources().items().iter().any(|other| other.resource.uri == uri);
            let routed = visible.route_uri(uri);
            let known =
                routed.is_some_and(|(plugin, template)| self.check_uri(plugin, uri, template.as_ref()));
            items.push((format!("resource {uri}"), [shown, listed, known]));
        }
        for template in all.templates().items() {
            let text = template.template.uri_template.as_str();
            let shown = self.is_shown(&item(template.plugin.name(), ItemKind::Template, text, None));
            let listed = visible.templates().items().iter().any(|other| other.template.uri_template == text);
            let plugin = visible.plugin_for_ref(text);
            let known = plugin.is_some_and(|plugin| self.check_uri(plugin, text, None));
            items.push((format!("template {text}"), [shown, listed, known]));
        }
        items
    }

    /// Checks that each visible tool has its app exactly if the rules show that. Returns how many apps are hidden.
    fn hidden_apps(&self) -> usize {
        let mut hidden = 0;
        for tool in self.view.snapshot.tools().items() {
            let of_tool = |(plugin, name, _): &&(&str, &str, &str)| {
                (*plugin, *name) == (tool.plugin.name(), tool.tool.name.as_str())
            };
            let (plugin, _, uri) = APPS.iter().find(of_tool).unwrap();
            let shows = |plugin: &str| self.is_shown(&item(plugin, ItemKind::Resource, uri, None));
            let expected = match (*plugin, *uri) {
                ("ab", "ab:z") | ("a", "a:z") | ("b", "b://h/z") => true,
                ("a", "a:x") => shows("a"),
                ("ab", "b://h/x") => shows("b"),
                other => panic!("{other:?}"),
            };
            let has = tool.extra.get("_meta").unwrap().get().contains("resourceUri");
            assert_eq!(has, expected, "{} {:#?}", tool.name, self.case.config);
            hidden += usize::from(!has);
        }
        hidden
    }

    /// A URI that no plugin lists, with whether it is routed, and whether its use is known.
    fn unlisted_uri(&self, uri: &str) -> [bool; 2] {
        let Some((plugin, template)) = self.view.snapshot.route_uri(uri) else { return [false, false] };
        let text = template.as_ref().map(|template| template.uri_template.as_str());
        let by_template = self.is_shown(&item(plugin.name(), ItemKind::Resource, uri, text));
        let of_template = self.is_shown(&item(plugin.name(), ItemKind::Template, text.unwrap(), None));
        assert!(by_template && of_template, "{uri} is read, but the rules hide it: {:#?}", self.case.config);
        [true, self.check_uri(plugin, uri, template.as_ref())]
    }
}

fn config(folder: &Path, text: &str) -> Config {
    let file = folder.join("plugport.toml");
    std::fs::write(&file, text).unwrap();
    Config::read(&file, folder.to_owned()).unwrap()
}

#[tokio::test]
async fn only_a_plugin_with_tools_that_can_be_bridged_has_a_tool_for_their_results() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), "[server]\ntask_bridge = true\n");
    for (plugin, tools, has, why) in [
        ("other", &["x"] as Names, true, None),
        ("other", &[], false, None),
        ("other", &["task_result", "x"], false, Some("the plugin has a tool `task_result` itself")),
        // Its tools have apps.
        ("a", &["b", "c"], false, None),
    ] {
        let listing = listing(plugin, tools, &[], &[]);
        let entry = entry(folder.path(), &config, (plugin, listing)).await;
        assert_eq!(entry.result_tool.is_some(), has, "{tools:?}");
        assert_eq!(entry.no_result_tool.as_deref(), why, "{tools:?}");
        assert!(entry.rejected.is_empty(), "{:?}", entry.rejected);
    }
}

#[tokio::test]
async fn an_item_is_in_a_list_exactly_if_its_use_is_not_answered_as_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), CONFIG);
    let scopes = config.plugins.iter().map(|(name, plugin)| (name.clone(), plugin.scopes.clone())).collect();
    let all = snapshot(folder.path(), &config).await;
    let mut seen = [[0_usize; 2]; 2];
    let mut hidden_apps = 0;
    for_each_case(5, |case, _, _| {
        let one = ViewCase::new(&all, case, &scopes);
        for (name, [shown, listed, known]) in one.listed_items() {
            assert_eq!((listed, known), (shown, shown), "{name} {:#?}", case.config);
            seen[0][usize::from(shown)] += 1;
        }
        hidden_apps += one.hidden_apps();
        for uri in UNLISTED {
            let [routed, known] = one.unlisted_uri(uri);
            assert_eq!(known, routed, "{uri} {:#?}", case.config);
            seen[1][usize::from(routed)] += 1;
        }
    });
    assert!(seen.as_flattened().iter().all(|count| *count > 500), "hardly ever seen: {seen:?}");
    assert!(hidden_apps > 100, "hardly ever hidden: {hidden_apps}");
}
