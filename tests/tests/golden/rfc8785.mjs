// Writes rfc8785.txt with node's own JSON.stringify, whose numbers and texts RFC 8785 takes over, and a sort by UTF-16
// code units, which is how JavaScript compares texts: `node rfc8785.mjs > rfc8785.txt`. Knows nothing of the Rust code
// but how parts of a key are framed (docs of idem-runtime/src/identity/frame.rs).
import { createHash } from "node:crypto";

const u64 = (n) => { const b = Buffer.alloc(8); b.writeBigUInt64LE(BigInt(n)); return b; };
const part = (p) => { const b = Buffer.from(p); return Buffer.concat([u64(b.length), b]); };
const byte = (n) => Buffer.from([n]);
const sha = (...parts) => createHash("sha256").update(Buffer.concat(parts)).digest();

const canonical = (v) => {
  if (Array.isArray(v)) return `[${v.map(canonical).join(",")}]`;
  if (v !== null && typeof v === "object") {
    const names = [...v.keys()].sort();
    return `{${names.map((n) => `${JSON.stringify(n)}:${canonical(v.get(n))}`).join(",")}}`;
  }
  return JSON.stringify(v);
};

// The key of `pay` in conversation c-1 of acme, by its arguments.
const key = (form) => {
  const fingerprint = sha(byte(1), byte(1), byte(2), part(`{"payload":${form}}`));
  const scope = [byte(1), byte(1), byte(1), part("acme"), u64(0), part("conversation"), byte(1), part("c-1"), u64(0)];
  return sha(...scope, byte(0), part("test.pay"), part("args"), part(fingerprint)).toString("hex");
};

const out = (text, form) => console.log(`${text}\t${form}\t${key(form)}`);
console.log("# written by rfc8785.mjs: text, canonical form, key");

// RFC 8785, Appendix B (NaN and Infinity cannot be written as JSON).
const appendixB = `0000000000000000 8000000000000000 0000000000000001 8000000000000001 7fefffffffffffff ffefffffffffffff
  4340000000000000 c340000000000000 4430000000000000 44b52d02c7e14af5 44b52d02c7e14af6 44b52d02c7e14af7
  444b1ae4d6e2ef4e 444b1ae4d6e2ef4f 444b1ae4d6e2ef50 3eb0c6f7a0b5ed8c 3eb0c6f7a0b5ed8d 41b3de4355555553
  41b3de4355555554 41b3de4355555555 41b3de4355555556 41b3de4355555557 becbf647612f3696 43143ff3c1cb0959`;
for (const bits of appendixB.split(/\s+/)) {
  const number = Buffer.from(bits, "hex").readDoubleBE();
  out((Object.is(number, -0) ? "-" : "") + number.toExponential(20), canonical(number));
}
for (const text of ["-0", "-0.0", "1e20", "1e21", "1e-7", "1e-6", "1.0", "100e0", "9.999999999999997e22"]) {
  out(text, canonical(JSON.parse(text)));
}
const names = new Map([["\u{1F600}", 1], ["\uE000", 2], ["\u00e9", 3], ["e\u0301", 4], ["", 5], ["a", 6], ["B", 7]]);
out(`{ ${[...names].map(([n, v]) => `${JSON.stringify(n)} : ${v}`).join(" , ")} }`, canonical(names));
for (const text of ["€$\u000f\nA'B\"\\\\\"/", "\u2028\u2029\u007f\u0080", "\b\f\r\t\u0000", "</script>", "ö\u{1F600}"]) {
  out(JSON.stringify(text), canonical(text));
}
const nested = '{ "literals" : [ null , true , false ] , "numbers" : [ 333333333.33333329 , 1E30 , 4.50 , 2e-3 ] , "x" : { } }';
out(nested, '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002],"x":{}}');

// Documents drawn from Knuth's 64-bit numbers, as tests/identity.rs draws them.
const MASK = (1n << 64n) - 1n;
let state = 8785n;
const bits = () => (state = (state * 6364136223846793005n + 1442695040888963407n) & MASK);
const below = (bound) => Number((bits() >> 33n) % BigInt(bound));
const TEXTS = ["", "a", "b", "aa", "A", "\u00e9", "e\u0301", "\uE000", "\u{1F600}", "\uFFFF", "\n\"\\\u0007", "\u2028/"];
const number = () => {
  switch (below(3)) {
    case 0: return below(2000) - 1000;
    case 1: return (below(2000001) - 1000000) / 1000;
    default:
      for (;;) {
        const high = bits() >> 32n, low = bits() >> 32n;
        const b = Buffer.alloc(8);
        b.writeBigUInt64BE((high << 32n) | low);
        const n = b.readDoubleBE();
        if (Number.isFinite(n)) return n;
      }
  }
};
const draw = (depth) => {
  switch (below(depth === 0 ? 4 : 6)) {
    case 0: return [true, false, null][below(3)];
    case 1: return TEXTS[below(12)];
    case 2: case 3: return number();
    case 4: return Array.from({ length: below(4) }, () => draw(depth - 1));
    default: {
      const members = new Map();
      const count = below(5);
      for (let i = 0; i < count; i++) {
        const name = TEXTS[below(12)], value = draw(depth - 1);
        if (!members.has(name)) members.set(name, value);
      }
      return members;
    }
  }
};
let chained = "";
for (let i = 0; i < 30000; i++) chained = key(canonical([draw(3), chained]));
console.log(`30000 documents\teach key in the next document\t${chained}`);
