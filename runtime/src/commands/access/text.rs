//! The report as text. Every line is escaped as a whole: names of items are those of guests.

use super::report::{AccessReport, CallerReport, ItemReport, RoleReport, RuleReport, Verdict};
use crate::observe::Escaped;

/// Most items in a row that have the same plugin, kind and decision, and are shown one by one.
const MAX_ALIKE: usize = 20;

/// Widest column of names.
const MAX_WIDTH: usize = 48;

/// The report in lines.
pub(super) fn of(report: &AccessReport<'_>) -> String {
    let mut lines = vec![caller_line(&report.caller)];
    let may = if report.connection.allowed { "may" } else { "may not" };
    lines.push(format!("{may} connect: {}", report.connection.reason));
    lines.extend(report.warnings.iter().map(|warning| format!("warning: {warning}")));
    lines.extend(role_lines(report));
    match report.items.as_slice() {
        [item] if report.is_one_item => lines.extend(one_item(item)),
        [] => lines.push("no plugin lists an item".to_owned()),
        items => {
            lines.push("items".to_owned());
            lines.extend(table(items));
        }
    }
    lines.extend(
        report.unlisted.iter().map(|unlisted| {
            format!("{}: its items are not known here: {}", unlisted.plugin, unlisted.reason)
        }),
    );
    let lines: Vec<String> = lines.iter().map(|line| Escaped(line).to_string()).collect();
    lines.join("\n")
}

fn caller_line(caller: &CallerReport) -> String {
    let list = |what: &str, names: &[String]| match names {
        [] => format!("no {what}s"),
        [one] => format!("{what} {one}"),
        several => format!("{what}s {}", several.join(", ")),
    };
    let CallerReport { principal, subject, client, groups, scopes, address } = caller;
    let is_authenticated = [principal, subject, client].into_iter().any(Option::is_some)
        || !groups.is_empty()
        || !scopes.is_empty();
    let who = match (principal, subject) {
        (Some(principal), _) => principal.clone(),
        (None, Some(subject)) => format!("sub:{subject} of some issuer"),
        (None, None) if is_authenticated => "some principal".to_owned(),
        (None, None) => "no credentials".to_owned(),
    };
    let mut parts = vec![format!("caller: {who}")];
    if is_authenticated && who != "stdio" {
        parts.push(list("group", groups));
        parts.push(list("scope", scopes));
    }
    parts.extend(client.as_ref().map(|client| format!("client {client}")));
    parts.extend(address.as_ref().map(|address| format!("at {address}")));
    parts.join("; ")
}

fn role_lines(report: &AccessReport<'_>) -> Vec<String> {
    if !report.has_roles {
        return vec![
            "there are no [roles]: every caller that may connect sees everything, and uses what its scopes allow"
                .to_owned(),
            format!("who may connect over HTTP: {}", report.who_may_connect),
        ];
    }
    if report.roles.is_empty() {
        return vec!["roles: none, so for this caller there is nothing".to_owned()];
    }
    let line = |RoleReport { role, who, line }: &RoleReport| format!("  {role}, line {line}: `{who}`");
    std::iter::once("roles".to_owned()).chain(report.roles.iter().map(line)).collect()
}

/// One item with everything that roles say about it.
fn one_item(item: &ItemReport) -> Vec<String> {
    let ItemReport { kind, name, plugin, .. } = item;
    let mut lines = vec![format!("{kind} `{name}` of the plugin `{plugin}`: {}", verdict(item))];
    lines.extend(item.template.as_ref().map(|template| format!("  read through the template `{template}`")));
    let why = why(item);
    lines.extend(Some(format!("  {why}")).filter(|_| !why.is_empty()));
    let others = item.rules.iter().filter(|rule| item.rule.as_ref() != Some(*rule));
    lines.extend(others.map(|rule| format!("  also {}", rule_in_words(rule))));
    lines.extend(item.conditions.iter().map(|condition| {
        let RuleReport { role, text, line, .. } = condition;
        format!("  {role}, line {line}: bounds the argument `{text}`")
    }));
    lines
}

/// One line for each item; of many alike, one for those after the first.
fn table(items: &[ItemReport]) -> Vec<String> {
    let width = items.iter().map(|item| shown_width(&item.name)).max().unwrap_or_default().min(MAX_WIDTH);
    let verdicts: Vec<String> = items.iter().map(verdict).collect();
    let widest = verdicts.iter().map(String::len).max().unwrap_or_default().min(MAX_WIDTH);
    let mut lines = Vec::new();
    let alike = |one: &ItemReport, other: &ItemReport| {
        let is_of_same = (one.kind, &one.plugin) == (other.kind, &other.plugin);
        is_of_same && verdict(one) == verdict(other) && why(one) == why(other)
    };
    for group in items.chunk_by(alike) {
        for item in group.iter().take(MAX_ALIKE) {
            let (kind, name, verdict) = (item.kind, Escaped(&item.name).to_string(), verdict(item));
            let line = format!("  {kind:<8}  {name:<width$}  {verdict:<widest$}  {}", why(item));
            lines.push(line.trim_end().to_owned());
        }
        if let Some(item) = group.get(MAX_ALIKE) {
            let (more, kind, plugin) = (group.len() - MAX_ALIKE, item.kind, &item.plugin);
            lines.push(format!(
                "  {kind:<8}  and {more} more of `{plugin}`: {}, {}",
                verdict(item),
                why(item)
            ));
        }
    }
    lines
}

fn shown_width(name: &str) -> usize {
    Escaped(name).to_string().chars().count()
}

fn verdict(item: &ItemReport) -> String {
    match item.decision {
        Verdict::Allowed => "allowed".to_owned(),
        Verdict::Hidden => "hidden".to_owned(),
        Verdict::ArgumentsForbidden => "forbidden with these arguments".to_owned(),
        Verdict::NeedsScopes => format!("needs scopes {}", item.scopes.join(" ")),
        Verdict::Conditional => {
            let mut pointers: Vec<&str> = item.conditions.iter().map(|rule| rule.text.as_str()).collect();
            pointers.sort_unstable();
            pointers.dedup();
            format!("allowed; conditions on {}", pointers.join(", "))
        }
    }
}

/// What decided.
fn why(item: &ItemReport) -> String {
    let rule = item.rule.as_ref().map(rule_in_words);
    match (rule, &item.reason) {
        (Some(rule), Some(reason)) => format!("{rule}: {reason}"),
        (Some(rule), None) => rule,
        (None, Some(reason)) => reason.clone(),
        (None, None) => String::new(),
    }
}

fn rule_in_words(rule: &RuleReport) -> String {
    let RuleReport { role, list, text, line } = rule;
    format!("{role}, line {line}: {list} `{text}`")
}
