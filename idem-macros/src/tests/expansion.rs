//! Expansions, one snapshot a case, and the properties that every expansion has.

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use syn::visit_mut::VisitMut;

use super::snapshot;
use crate::expand;

/// A case of this file.
fn check(name: &str, arguments: TokenStream, item: TokenStream) {
    check_in("expansion", name, arguments, item);
}

/// Expands, compares with the snapshot, and checks how long the code is that is not the user's.
pub(super) fn check_in(room: &str, name: &str, arguments: TokenStream, item: TokenStream) {
    check_tokens(room, name, &expand(arguments, item));
}

/// The same for an expansion that is there already.
pub(super) fn check_tokens(room: &str, name: &str, tokens: &TokenStream) {
    assert!(!tokens.to_string().contains("compile_error"), "{tokens}");
    let file = syn::parse2(tokens.clone()).unwrap_or_else(|error| panic!("{error} in {tokens}"));
    let text = format!(
        "//! What `#[idempotent]` makes of the case `{name}` in src/tests/{room}.rs; `IDEM_BLESS=1` writes it anew.\n\n{}",
        prettyplease::unparse(&file)
    );
    snapshot::check(&format!("{name}.rs"), &text);
    check_size(name, &file);
}

/// At most 15 lines a function, apart from the static description, the signature, the user's body, the hooks, and one
/// line for each thing told of an argument or bound again. A line of brackets alone is the printer's.
fn check_size(name: &str, file: &syn::File) {
    let Some(syn::Item::Fn(function)) = file.items.first() else {
        return;
    };
    let mut slim = Slim { own: 0 };
    let mut block = (*function.block).clone();
    slim.visit_block_mut(&mut block);
    let text = prettyplease::unparse(&syn::parse_quote!(async fn f() #block));
    let lines = text.lines().skip(1).filter(|line| line.contains(char::is_alphanumeric)).count();
    assert!(lines <= 15 + slim.own, "{name}: {lines} lines, {} of them for arguments\n{text}", slim.own);
}

/// Removes what is not counted: the static, attributes, the runtime's path, the hooks, and the user's block.
struct Slim {
    own: usize,
}

impl VisitMut for Slim {
    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        block.stmts.retain(|statement| !matches!(statement, syn::Stmt::Item(_)));
        syn::visit_mut::visit_block_mut(self, block);
    }

    fn visit_attributes_mut(&mut self, attrs: &mut Vec<syn::Attribute>) {
        attrs.clear();
    }

    fn visit_path_mut(&mut self, path: &mut syn::Path) {
        syn::visit_mut::visit_path_mut(self, path);
        if path.segments.first().is_some_and(|first| first.ident == "idem_runtime") {
            path.leading_colon = None;
            path.segments = path.segments.iter().skip(2).cloned().collect();
        }
    }

    fn visit_expr_method_call_mut(&mut self, call: &mut syn::ExprMethodCall) {
        syn::visit_mut::visit_expr_method_call_mut(self, call);
        let method = call.method.to_string();
        if method.starts_with("full") {
            call.args[0] = syn::parse_quote!(hooks);
        }
        self.own += match method.as_str() {
            "effect" | "content" | "part" => 1,
            // The printer breaks it: a line for each of its arguments.
            "effect_without" => 2 + call.args.len(),
            _ => 0,
        };
    }

    fn visit_local_mut(&mut self, local: &mut syn::Local) {
        syn::visit_mut::visit_local_mut(self, local);
        let text = quote!(#local).to_string();
        self.own += usize::from(!text.contains("__idem_args =") && !text.contains("__idem_never"));
    }

    fn visit_expr_async_mut(&mut self, inner: &mut syn::ExprAsync) {
        if let Some(syn::Stmt::Expr(syn::Expr::Block(_), None)) = inner.block.stmts.last() {
            inner.block.stmts.pop();
        }
        syn::visit_mut::visit_expr_async_mut(self, inner);
    }
}

#[test]
fn plain() {
    check(
        "plain",
        quote!(scope = "conversation", key = "tool_call_id|args"),
        quote! {
            /// Sends the money back.
            ///
            /// Once an order.
            pub async fn send_refund(
                call: &ToolCall, order_id: String, amount_cents: u64, #[idem(content)] reason: String,
            ) -> Result<Refund, PaymentError> {
                client().refund(order_id, amount_cents, reason).await
            }
        },
    );
}

#[test]
fn every_setting() {
    check(
        "every_setting",
        quote!(
            scope = "workflow",
            key = "operation_id|args",
            name = "billing.refund",
            version = 3,
            effect = "reversible",
            counts = "one refund per return",
            window = "10m",
            retain = "30d",
            lease = "1m500ms",
            after_retention = "run",
            on_busy = "tell",
            detach = true,
            outcome = false
        ),
        quote! {
            async fn refund(a: u8) -> Result<(), E> { send(a).await }
        },
    );
}

#[test]
fn defaults_are_left_out() {
    check(
        "defaults_are_left_out",
        quote!(
            scope = "conversation",
            version = 1,
            effect = "irreversible",
            after_retention = "tell",
            on_busy = "wait"
        ),
        quote! {
            async fn refund(a: u8) -> Result<(), E> { send(a).await }
        },
    );
}

#[test]
fn method() {
    check(
        "method",
        quote!(scope = "conversation+{self.merchant}"),
        quote! {
            pub async fn refund(&self, call: &ToolCall, id: String) -> Result<Refund, E> { self.client.refund(id).await }
        },
    );
}

#[test]
fn method_of_a_trait_impl() {
    check(
        "method_of_a_trait_impl",
        quote!(scope = "conversation"),
        quote! {
            async fn act(&self, input: Input) -> Result<Output, Self::Error> { self.act_now(input).await }
        },
    );
}

#[test]
fn method_by_owner() {
    check(
        "method_by_owner",
        quote!(scope = "user", detach),
        quote! {
            pub(crate) async fn act(#[idem(state)] self: Arc<Self>, input: Input) -> Result<Output, E> { self.go(input).await }
        },
    );
}

#[test]
fn associated_function() {
    check(
        "associated_function",
        quote!(scope = "user"),
        quote! {
            pub async fn act(input: Input) -> Result<Output, <Self as Tool>::Error> { go(input).await }
        },
    );
}

#[test]
fn generics() {
    check(
        "generics",
        quote!(scope = "tenant"),
        quote! {
            pub async fn act<'a, T: Serialize, const N: usize>(text: &'a str, items: [T; N]) -> Result<T, E>
            where
                T: DeserializeOwned,
            {
                go(text, items).await
            }
        },
    );
}

#[test]
fn patterns() {
    check(
        "patterns",
        quote!(scope = "tenant", key = "tool_call_id|template:{arg3.d}-{arg2.0}"),
        quote! {
            async fn act(mut call: ToolCall, mut a: u8, (b, c): (u8, u8), P { d, .. }: P, _: u8, _e: u8) -> Result<u8, E> {
                a += b;
                Ok(a)
            }
        },
    );
}

#[test]
fn names_inside_patterns() {
    check(
        "names_inside_patterns",
        quote!(
            scope = "tenant",
            key = "template:{refund.order_id}-{d}|args(b, arg2.region)",
            content = "refund.note",
            secret = "refund.token"
        ),
        quote! {
            async fn act(Parameters(refund): Parameters<Refund>, (b, ..): (u8, u8), P { c: (d, _), .. }: P) -> Result<u8, E> {
                go(refund).await
            }
        },
    );
}

#[test]
fn conditional_parameters() {
    check(
        "conditional_parameters",
        quote!(scope = "tenant+{a.region}"),
        quote! {
            #[cfg(feature = "billing")]
            #[tracing::instrument]
            pub async fn act(
                #[cfg(unix)] a: A, #[cfg(not(unix))] a: B, #[allow(unused)] c: u8, #[cfg(unix)] (d, e): (u8, u8),
            ) -> Result<u8, E> {
                Ok(c)
            }
        },
    );
}

#[test]
fn part_of_the_arguments() {
    check(
        "part_of_the_arguments",
        quote!(
            scope = "tenant",
            key = "operation_id|tool_call_id+args(order.id, cents)",
            content = "order.note",
            volatile = ["order.meta.requested_at", "now"],
            secret = "order.token"
        ),
        quote! {
            async fn act(order: Order, cents: u64, now: u64, #[idem(secret)] token: String) -> Result<u8, E> { go().await }
        },
    );
}

#[test]
fn template() {
    check(
        "template",
        quote!(
            scope = "{region}+{db.shard}",
            key = "template: {{{self.merchant}}} a||b+c/{id}/{order.type} | tool_call_id"
        ),
        quote! {
            async fn act(&self, id: u8, order: Order, region: String, #[idem(state)] db: Db) -> Result<u8, E> { go().await }
        },
    );
}

#[test]
fn named_scope() {
    check(
        "named_scope",
        quote!(scope = "named:cart"),
        quote!(
            async fn act(a: u8) -> Result<u8, E> {
                go().await
            }
        ),
    );
}

#[test]
fn validated() {
    check(
        "validated",
        quote!(scope = "tenant", validate = check::order),
        quote! {
            async fn act(call: &ToolCall, mut id: u8, #[idem(state)] db: Db) -> Result<u8, E> { go(&mut id).await }
        },
    );
}

#[test]
fn validated_method() {
    check(
        "validated_method",
        quote!(scope = "tenant", validate = Self::check),
        quote! {
            async fn act(&self, id: u8) -> Result<u8, E> { go(id).await }
        },
    );
}

#[test]
fn classified() {
    check(
        "classified",
        quote!(scope = "tenant", classify = errors::classify, refuse = errors::refuse),
        quote!(
            async fn act(id: u8) -> Result<u8, E> {
                go(id).await
            }
        ),
    );
}

#[test]
fn context_expression() {
    check(
        "context_expression",
        quote!(scope = "tenant", ctx = request.extensions() as &dyn Source),
        quote!(
            async fn act(#[idem(state)] request: Request, id: u8) -> Result<u8, E> {
                go(id).await
            }
        ),
    );
}

#[test]
fn context_parameter() {
    check(
        "context_parameter",
        quote!(scope = "tenant", ctx = context),
        quote!(
            async fn act(context: Context, id: u8) -> Result<u8, E> {
                go(id).await
            }
        ),
    );
}

#[test]
fn nothing_to_tell() {
    check(
        "nothing_to_tell",
        quote!(scope = "tenant", key = "tool_call_id"),
        quote!(
            async fn act() -> Result<u8, E> {
                go().await
            }
        ),
    );
}

#[test]
fn detach_refused() {
    check(
        "detach_refused",
        quote!(scope = "tenant", detach = false),
        quote!(
            async fn act(a: u8) -> Result<u8, E> {
                go().await
            }
        ),
    );
}

#[test]
fn other_crate() {
    check(
        "other_crate",
        quote!(scope = "tenant", crate = facade::idem),
        quote!(
            async fn r#type(call: &facade::idem::ToolCall, r#in: u8) -> Result<u8, E> {
                go().await
            }
        ),
    );
    let tokens = expand(
        quote!(scope = "tenant+{a.b}", crate = "facade::idem", validate = v, key = "args(a.b)|template:{a.c}"),
        quote!(
            pub async fn act(call: &ToolCall, a: A) -> Result<u8, E> {
                go().await
            }
        ),
    );
    assert!(!tokens.to_string().contains("idem_runtime"), "{tokens}");
}

#[test]
fn boxed_by_another_attribute() {
    check(
        "boxed_by_another_attribute",
        quote!(scope = "tenant+{self.merchant}"),
        quote! {
            fn act<'life0, 'async_trait>(&'life0 self, a: u8, __arg2: (u8, u8))
                -> ::core::pin::Pin<Box<dyn ::core::future::Future<Output = Result<u8, E>> + ::core::marker::Send + 'async_trait>>
            where
                'life0: 'async_trait,
                Self: 'async_trait,
            {
                Box::pin(async move {
                    let __self = self;
                    let (b, c) = __arg2;
                    go(a, b, c).await
                })
            }
        },
    );
}

/// Signature and body are there, whatever the body is: an editor completes in it.
fn check_half_typed(arguments: TokenStream, body: &TokenStream, guarded: bool) {
    let tokens = expand(arguments, quote!(pub async fn act(&self, #[idem(content)] a: u8) -> Result<u8, E> { #body }));
    let text = tokens.to_string();
    let signature = quote!(pub async fn act(&self, a: u8) -> Result<u8, E>).to_string();
    assert!(text.contains(&signature), "{text}");
    assert!(text.contains(&quote!({ #body }).to_string()), "{text}");
    assert_eq!(text.contains("Guard :: new"), guarded, "{text}");
    assert_eq!(text.contains("compile_error"), !guarded, "{text}");
}

#[test]
fn r120_half_typed_bodies_expand() {
    let sound = quote!(scope = "tenant+{self.merchant}", key = "tool_call_id");
    check_half_typed(sound.clone(), &quote!(self.client.), true);
    check_half_typed(sound.clone(), &quote!(if 1), true);
    check_half_typed(sound, &quote!(let x = ; match), true);
    check_half_typed(quote!(scope = "tenant+{self.merchant}",), &quote!(self.client.), false);
    check_half_typed(quote!(scope), &quote!(if 1), false);
    check_half_typed(quote!(scope =), &quote!(if 1), false);
    check_half_typed(quote!(sco), &quote!(self.), false);
    check_half_typed(quote!(= 1 2 3, "x"), &quote!(self.), false);
}

#[test]
fn the_users_tokens_keep_their_places() {
    let source = "async fn act(call: &ToolCall, mut a: u8) -> Result<u8, E> { place_of(a) }";
    let item: TokenStream = source.parse().expect("tokens");
    let tokens = expand(quote!(scope = "tenant"), item);
    let found = find(tokens, "place_of").expect("the body is there");
    assert_eq!(found.source_text().as_deref(), Some("place_of"));
}

fn find(tokens: TokenStream, name: &str) -> Option<proc_macro2::Span> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(ident) if ident == name => Some(ident.span()),
        TokenTree::Group(group) => find(group.stream(), name),
        _ => None,
    })
}
