//! Compares a plugin's entry with its approval: describes the items as the lockfile does, and acts on the verdicts.
//!
//! The layer `approval` does not know the catalog, so the comparison is here.

use std::sync::Arc;

use super::item_list::Item;
use super::items::{PublishedPrompt, PublishedResource, PublishedTemplate, PublishedTool};
use super::plugin_entry::{PluginEntry, RejectedItem, retain};
use crate::approval::{
    ApprovalPolicy, ApprovedPlugin, ItemDescriptor, ItemDescriptors, ItemVerdict, ListingReview,
    item_descriptor,
};

/// An item that can be approved.
trait Describe: Item {
    fn descriptor(&self) -> ItemDescriptor;

    /// The digest of the descriptor.
    fn approval_digest(&self) -> String {
        self.descriptor().digest
    }
}

impl Describe for PublishedTool {
    fn descriptor(&self) -> ItemDescriptor {
        item_descriptor::tool(&self.name, &self.tool, self.app.as_deref())
    }
}

impl Describe for PublishedResource {
    fn descriptor(&self) -> ItemDescriptor {
        item_descriptor::resource(&self.resource, self.file.as_ref().map(|shipped| &shipped.file))
    }

    /// Of a file it is computed once: a guest can have its plugin listed again and again.
    fn approval_digest(&self) -> String {
        match &self.file {
            Some(_) => self.approval_digest.get_or_init(|| self.descriptor().digest).clone(),
            None => self.descriptor().digest,
        }
    }
}

impl Describe for PublishedTemplate {
    fn descriptor(&self) -> ItemDescriptor {
        item_descriptor::template(&self.template)
    }
}

impl Describe for PublishedPrompt {
    fn descriptor(&self) -> ItemDescriptor {
        item_descriptor::prompt(&self.name, &self.prompt)
    }
}

impl PluginEntry {
    /// Rejects the items that clients may not see, and stores the policy. The warnings name items that clients see
    /// although they were not approved.
    #[must_use]
    pub fn check_approval(mut self, approval: &ApprovalPolicy) -> (Self, Vec<String>) {
        self.approval = approval.clone();
        let Some(mut review) = approval.review_listing(self.plugin.name(), &self.interfaces.imports) else {
            return (self, Vec::new());
        };
        retain_admitted(&mut self.tools, &mut review, &mut self.rejected);
        retain_admitted(&mut self.resources, &mut review, &mut self.rejected);
        retain_admitted(&mut self.templates, &mut review, &mut self.rejected);
        retain_admitted(&mut self.prompts, &mut review, &mut self.rejected);
        if !self.tools.iter().any(|tool| tool.can_be_bridged()) {
            self.result_tool = None;
        }
        let warnings = review.finish();
        self.unapproved.clone_from(&warnings);
        (self, warnings)
    }

    /// The plugin as an approval would record it. `grants` are its sentences,
    /// [relative to](crate::config::Grants::describe_relative_to) the folder of the lockfile.
    #[must_use]
    pub fn to_approve(&self, grants: Vec<String>) -> ApprovedPlugin {
        ApprovedPlugin {
            tools: described(&self.tools),
            resources: described(&self.resources),
            templates: described(&self.templates),
            prompts: described(&self.prompts),
            ..ApprovedPlugin::new(self.plugin.digest(), &self.interfaces.imports, grants)
        }
    }
}

fn retain_admitted<T: Describe>(
    items: &mut Vec<Arc<T>>,
    review: &mut ListingReview<'_>,
    rejected: &mut Vec<RejectedItem>,
) {
    retain(items, rejected, |item| match review.check(T::KIND, item.own_name(), || item.approval_digest()) {
        ItemVerdict::Admitted => None,
        ItemVerdict::Rejected(why) => {
            let key = Some(item.key().to_owned());
            Some(RejectedItem { key, ..RejectedItem::new(T::KIND, item.own_name().to_owned(), why) })
        }
    });
}

fn described<T: Describe>(items: &[Arc<T>]) -> ItemDescriptors {
    items.iter().map(|item| (item.own_name().to_owned(), item.descriptor())).collect()
}
