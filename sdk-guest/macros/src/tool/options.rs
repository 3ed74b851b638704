//! The keys in `#[tool(...)]`.

use proc_macro2::TokenStream;
use syn::meta::ParseNestedMeta;
use syn::parse::Parser;
use syn::{Expr, LitStr, Path};

use crate::attribute_keys::{expression, flag, name, path, set, string};

/// The values of the attribute's keys.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) read_only: Option<bool>,
    pub(crate) destructive: Option<bool>,
    pub(crate) idempotent: Option<bool>,
    pub(crate) open_world: Option<bool>,
    pub(crate) when: Option<Path>,
    pub(crate) input_schema: Option<Expr>,
    pub(crate) output_schema: Option<Expr>,
    pub(crate) extra: Option<Expr>,
}

impl Options {
    pub(crate) fn parse(tokens: TokenStream) -> syn::Result<Self> {
        let mut options = Self::default();
        syn::meta::parser(|meta| options.key(&meta)).parse2(tokens)?;
        Ok(options)
    }

    fn key(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
        match key.as_str() {
            "name" => set(meta, &mut self.name, name),
            "title" => set(meta, &mut self.title, string),
            "read_only" => set(meta, &mut self.read_only, flag),
            "destructive" => set(meta, &mut self.destructive, flag),
            "idempotent" => set(meta, &mut self.idempotent, flag),
            "open_world" => set(meta, &mut self.open_world, flag),
            "when" => set(meta, &mut self.when, path),
            "input_schema" => set(meta, &mut self.input_schema, expression),
            "output_schema" => set(meta, &mut self.output_schema, expression),
            "extra" => set(meta, &mut self.extra, expression),
            _ => Err(meta.error(
                "`#[tool]` has no such key; it knows `name`, `title`, `read_only`, `destructive`, `idempotent`, `open_world`, `when`, `input_schema`, `output_schema` and `extra`",
            )),
        }
    }
}
