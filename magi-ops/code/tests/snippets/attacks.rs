//! Snippets that want more than they are given. None may reach the host, hang it, or make it say what is not so.

use super::*;

#[tokio::test]
async fn no_code_comes_from_text() {
    for source in [
        "eval('1')",
        "(0, eval)('1')",
        "globalThis.eval('1')",
        "Function('return 1')()",
        "new Function('return 1')()",
        "(() => {}).constructor('return 1')()",
        "(async () => {}).constructor('return 1')()",
        "(function* () {}).constructor('return 1')()",
        "(async function* () {}).constructor('return 1')()",
        "tools.echo.constructor.constructor('return 1')()",
        "console.log.constructor('return 1')()",
        "Object.getPrototypeOf(async function () {}).constructor('1')",
        "Reflect.construct((() => {}).constructor, ['return 1'])()",
        "class A extends (() => {}).constructor { constructor() { super('return 1') } }; new A()()",
        "[].constructor.constructor('return this')()",
        "await import('std')",
        "await import('data:text/javascript,1')",
        "require('fs')",
    ] {
        let said = failure(source).await;
        let refused = ["EvalError", "ReferenceError", "TypeError", "SyntaxError"];
        assert!(
            refused.iter().any(|kind| said.starts_with(kind)),
            "{source}: {said}"
        );
    }
    all_said(&[("return (() => {}) instanceof Function", "true")]).await;
}

#[tokio::test]
async fn nothing_but_the_language_and_the_tools_is_there() {
    let source = "const absent = ['std', 'os', 'bjson', 'process', 'require', 'module', 'Deno', 'fetch', 'XMLHttpRequest', 'WebSocket', \
        'setTimeout', 'setInterval', 'setImmediate', 'Worker', 'SharedArrayBuffer', 'Atomics', 'print', 'load', 'scriptArgs', 'eval', 'gc', \
        '__loadScript', 'navigator', 'WebAssembly', 'globalThis.call']; return absent.filter((name) => name in globalThis)";
    assert_eq!(said(source).await, "[]");
    // What is beside the language itself.
    let source = "return Object.getOwnPropertyNames(globalThis).filter((name) => !/^[A-Z]/.test(name)).sort()";
    let names = said(source).await;
    let names: Vec<String> = serde_json::from_str(&names).unwrap();
    let known = [
        "atob",
        "btoa",
        "console",
        "decodeURI",
        "decodeURIComponent",
        "encodeURI",
        "encodeURIComponent",
        "escape",
        "globalThis",
        "isFinite",
        "isNaN",
        "parseFloat",
        "parseInt",
        "performance",
        "queueMicrotask",
        "tools",
        "undefined",
        "unescape",
    ];
    assert_eq!(names, known);
}

#[tokio::test]
async fn what_the_host_lends_can_t_be_changed() {
    for source in [
        "tools.echo = 1",
        "tools.more = 1",
        "delete tools.echo",
        "tools.__proto__.x = 1",
        "console.log = 1",
        "globalThis.tools = {}",
        "tools.echo.x = 1",
        "Object.setPrototypeOf(tools, {})",
        "Object.defineProperty(tools, 'echo', {value: 1})",
    ] {
        let said = failure(source).await;
        assert!(said.starts_with("TypeError"), "{source}: {said}");
    }
}

/// What a snippet does to its own realm, the host's side does not notice.
#[tokio::test]
async fn a_spoilt_realm_changes_nothing_outside() {
    let spoil = "
        const names = Object.getOwnPropertyNames;
        for (const from of [Object, Array, String, Promise, JSON, Map, Set, Reflect, Symbol, Error]) {
            for (const of of [from, from.prototype ?? {}]) {
                const all = names(of);
                for (let at = 0; at < all.length; at++) {
                    try { of[all[at]] = () => { throw new Error('spoilt') } } catch {}
                }
            }
        }";
    let player = Arc::new(Player::default());
    let source =
        format!("{spoil}\n const a = tools.echo({{x: 1}}); console.log('printed'); return a");
    let outcome = played(&source, Arc::clone(&player), CancellationToken::new()).await;
    // The call is made as it was meant; whether its own promises still work is the snippet's own trouble.
    assert_eq!(
        *player.asked.lock().unwrap(),
        [("echo".to_owned(), json!({"x": 1}))]
    );
    assert!(outcome.content.contains("printed"), "{}", outcome.content);
    for source in [
        "Object.prototype.toJSON = () => 'x'; return tools.echo({a: 1}).catch((e) => e.message)",
        "Object.prototype.then = function (done) { done('hijacked') }; return await tools.echo({})",
        "Object.defineProperty(Object.prototype, 'value', {get() { throw 1 }}); return await tools.echo({})",
        "Promise.prototype.then = () => { throw 1 }; return await tools.echo({})",
        "Promise.prototype.constructor = function () { throw 1 }; return await tools.echo({})",
        "Error.prepareStackTrace = () => { throw 1 }; await tools.fail({})",
        "Error.prepareStackTrace = (e, s) => s; await tools.fail({})",
        "Error.stackTraceLimit = Infinity; await tools.fail({})",
        "Array.prototype[Symbol.iterator] = null; return await tools.echo({})",
        "Array[Symbol.species] = class {}; return [1, 2].map((x) => x)",
        "throw {get message() { throw 1 }, toString() { throw 2 }, toJSON() { throw 3 }}",
        "throw new Proxy(new Error('x'), {get() { throw 1 }, getPrototypeOf() { throw 2 }})",
        "const e = new Error('x'); Object.defineProperty(e, 'stack', {get() { for (;;) throw 1 }}); throw e",
        "const e = new Error('x'); e.stack = 'at snippet.js:99999999999999:1\\nat x (snippet.js:7)'; throw e",
        "const e = new Error(); Object.defineProperty(e, 'message', {get() { return 'x'.repeat(1e6) }}); throw e",
        "return new Proxy({}, {ownKeys() { throw 1 }})",
        "return new Proxy([], {get() { throw 1 }})",
        "throw undefined",
        "throw Symbol('x')",
        "async function* g() { yield* g() } for await (const x of g()) {}",
        "const r = new FinalizationRegistry(() => { throw 1 }); r.register({}, 1); new WeakRef({}).deref(); return 1",
        "return Promise.reject(Promise.reject(1))",
        "queueMicrotask(() => { throw new Error('lost') }); return 1",
        "Promise.reject(new Error('lost')); return 1",
    ] {
        let outcome = tokio::time::timeout(Duration::from_secs(20), run(source)).await;
        let outcome = outcome.unwrap_or_else(|_| panic!("{source} hangs"));
        assert!(outcome.content.len() <= 256 * 1024, "{source}");
        assert!(
            !outcome.content.contains("ended unexpectedly"),
            "{source}: {}",
            outcome.content
        );
    }
}

#[tokio::test]
async fn a_flood_of_calls_or_words_costs_the_snippet_only() {
    let player = Arc::new(Player::default());
    let source = "for (;;) tools.hang({x: 'y'.repeat(1e5)}).catch(() => {})";
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(500)).await;
        stop.cancel();
    });
    let outcome = played(source, Arc::clone(&player), cancel).await;
    assert!(outcome.is_error);
    assert!(player.most.load(Ordering::SeqCst) <= 64);
}
