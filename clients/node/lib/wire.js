"use strict";
// Messages between JavaScript's values and protobuf's bytes (protobuf.dev/programming-guides/encoding), by the generated tables.

const VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5;
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const MILLION = 1_000_000;

/** An enumeration of the API. Its values are their names in JavaScript; a value without a name is its number. */
class Enumeration {
  constructor(values) {
    this.numbers = new Map(Object.entries(values));
    this.names = new Map(Object.entries(values).map(([name, number]) => [number, name]));
  }

  nameOf(number) {
    return this.names.get(number) ?? number;
  }
}

/** A message of the API. */
class Message {
  /** `rows` returns the fields, which may name messages that come later. */
  constructor(fullName, rows) {
    this.fullName = fullName;
    this.rows = rows;
  }

  get fields() {
    const fields = this.rows();
    Object.defineProperty(this, "fields", { value: fields });
    return fields;
  }

  get byNumber() {
    const found = new Map(this.fields.map((field) => [field.number, field]));
    Object.defineProperty(this, "byNumber", { value: found });
    return found;
  }

  /** Throws a TypeError that names the field if a value cannot be encoded. */
  encode(value) {
    const writer = new Writer();
    writer.message(this, value, "");
    return writer.finish();
  }

  /** Throws an Error if the bytes are no such message. */
  decode(bytes) {
    return new Reader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)).message(this, bytes.byteLength);
  }
}

// MARK: Writing

class Writer {
  parts = [];

  finish() {
    return Buffer.concat(this.parts);
  }

  message(type, value, path) {
    if (value === null || typeof value !== "object" || Array.isArray(value)) throw wrong(path, "must be an object");
    const known = new Set(type.fields.map((field) => field.name));
    for (const name of Object.keys(value)) {
      if (!known.has(name)) throw wrong(join(path, name), `is no field of ${type.fullName}`);
    }
    const oneOfs = new Map();
    for (const field of type.fields) {
      const content = value[field.name];
      if (content === undefined || content === null) continue;
      const place = join(path, field.name);
      if (field.oneOf) {
        if (oneOfs.has(field.oneOf)) throw wrong(place, `excludes ${oneOfs.get(field.oneOf)}: a message has one of them alone`);
        oneOfs.set(field.oneOf, place);
      }
      this.field(field, content, place);
    }
  }

  field(field, content, place) {
    if (field.isMap) {
      if (typeof content !== "object") throw wrong(place, "must be an object");
      for (const [key, value] of Object.entries(content)) {
        const entry = new Writer();
        entry.value({ number: 1, kind: "string" }, key, place);
        entry.value({ ...field, number: 2 }, value, join(place, key));
        this.bytes(field.number, entry.finish());
      }
    } else if (field.isRepeated) {
      if (!Array.isArray(content)) throw wrong(place, "must be a list");
      content.forEach((value, index) => this.value(field, value, `${place}[${index}]`));
    } else if (field.oneOf || hasPresence(field.kind) || !isDefault(content)) {
      this.value(field, content, place);
    }
  }

  value(field, content, place) {
    switch (field.kind) {
      case "string":
        if (typeof content !== "string") throw wrong(place, "must be a string");
        // An encoder would silently replace half a surrogate pair by another character.
        if (/\p{Surrogate}/u.test(content)) throw wrong(place, "has half a surrogate pair");
        return this.bytes(field.number, Buffer.from(content, "utf8"));
      case "bytes":
        if (!(content instanceof Uint8Array)) throw wrong(place, "must be a Buffer or a Uint8Array");
        return this.bytes(field.number, content);
      case "message": {
        const inner = new Writer();
        inner.message(field.type, content, place);
        return this.bytes(field.number, inner.finish());
      }
      case "timestamp":
        if (!(content instanceof Date) || Number.isNaN(content.getTime())) throw wrong(place, "must be a valid Date");
        return this.seconds(field.number, content.getTime(), Math.floor);
      case "duration":
        if (typeof content !== "number" || !Number.isFinite(content)) throw wrong(place, "must be a number of milliseconds");
        return this.seconds(field.number, content, Math.trunc);
      case "bool":
        if (typeof content !== "boolean") throw wrong(place, "must be true or false");
        return this.varint(field.number, content ? 1n : 0n);
      case "enum":
        return this.varint(field.number, enumNumber(field.type, content, place));
      default:
        return this.varint(field.number, integer(field.kind, content, place));
    }
  }

  /** Writes a Timestamp or a Duration. `round`: the nanoseconds of a time before 1970 are positive, those of a negative duration are not. */
  seconds(number, milliseconds, round) {
    const whole = round(milliseconds / 1000);
    const nanoseconds = Math.min(Math.round((milliseconds - whole * 1000) * MILLION), 999_999_999);
    const inner = new Writer();
    inner.varint(1, BigInt.asUintN(64, BigInt(whole)));
    inner.varint(2, BigInt.asUintN(64, BigInt(nanoseconds)));
    this.bytes(number, inner.finish());
  }

  varint(number, value) {
    this.parts.push(varint(BigInt(number * 8 + VARINT)), varint(value));
  }

  bytes(number, content) {
    this.parts.push(varint(BigInt(number * 8 + BYTES)), varint(BigInt(content.byteLength)), content);
  }
}

function varint(value) {
  const bytes = [];
  let rest = value;
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

const RANGES = {
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint32: [0n, 2n ** 32n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
};

function integer(kind, content, place) {
  const [least, greatest] = RANGES[kind];
  const isWhole = typeof content === "bigint" || Number.isSafeInteger(content);
  const value = isWhole ? BigInt(content) : undefined;
  if (value === undefined || value < least || value > greatest) {
    throw wrong(place, `must be a whole number from ${least} to ${greatest}`);
  }
  return BigInt.asUintN(64, value);
}

function enumNumber(type, content, place) {
  if (typeof content !== "string") return integer("int32", content, place);
  const number = type.numbers.get(content);
  if (number === undefined) throw wrong(place, `has no value ${JSON.stringify(content.slice(0, 64))}`);
  return BigInt.asUintN(64, BigInt(number));
}

/** Returns whether a message without the field reads the same. */
function isDefault(content) {
  return content === "" || content === 0 || content === 0n || content === false || content?.byteLength === 0;
}

function join(path, name) {
  return path ? `${path}.${name}` : name;
}

function wrong(place, problem) {
  return new TypeError(`${place || "the request"}: ${problem}`);
}

// MARK: Reading

class Reader {
  position = 0;

  constructor(bytes) {
    this.bytes = bytes;
  }

  message(type, end) {
    const value = {};
    for (const field of type.fields) {
      const content = field.oneOf ? undefined : absent(field);
      if (content !== undefined) value[field.name] = content;
    }
    while (this.position < end) {
      const key = Number(this.varint(end) & 0xffff_ffffn);
      const field = type.byNumber.get(key >>> 3);
      if (field === undefined) this.skip(key & 7, end);
      else this.field(type, field, key & 7, end, value);
    }
    return value;
  }

  field(type, field, wireType, end, value) {
    const isScalar = isVarint(field.kind);
    if (field.isRepeated && isScalar && wireType === BYTES) {
      const last = this.end(end);
      while (this.position < last) value[field.name].push(scalar(field, this.varint(last)));
      return;
    }
    if (wireType !== (isScalar ? VARINT : BYTES)) throw new Error(`${type.fullName}.${field.name} has another wire type`);
    if (field.isMap) {
      const entry = this.inner(end, (reader, last) => reader.message(entryType(field), last));
      Object.defineProperty(value[field.name], entry.key, {
        value: entry.value, enumerable: true, configurable: true, writable: true,
      });
      return;
    }
    const content = isScalar ? scalar(field, this.varint(end)) : this.content(field, end);
    if (field.isRepeated) value[field.name].push(content);
    else value[field.name] = content;
    if (field.oneOf) {
      // The last one counts.
      for (const other of type.fields) if (other.oneOf === field.oneOf && other !== field) delete value[other.name];
    }
  }

  content(field, end) {
    return this.inner(end, (reader, last) => {
      const bytes = reader.bytes.subarray(reader.position, last);
      switch (field.kind) {
        case "string":
          return UTF8.decode(bytes);
        case "bytes":
          // A copy: a part would keep the whole buffer of the answer in memory.
          return Buffer.from(bytes);
        case "message":
          return reader.message(field.type, last);
        default: {
          const { seconds, nanos } = reader.message(TIME, last);
          const milliseconds = Number(seconds) * 1000 + nanos / MILLION;
          return field.kind === "timestamp" ? new Date(Math.floor(milliseconds)) : milliseconds;
        }
      }
    });
  }

  /** Reads a field with a length by `read`, and goes on behind it. */
  inner(end, read) {
    const last = this.end(end);
    const value = read(this, last);
    this.position = last;
    return value;
  }

  end(outer) {
    const length = this.varint(outer);
    if (length > BigInt(outer - this.position)) throw new Error("a field is truncated");
    return this.position + Number(length);
  }

  varint(end) {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      if (this.position >= end) throw new Error("a field is truncated");
      const byte = this.bytes[this.position];
      this.position += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new Error("a number is too long");
  }

  skip(wireType, end) {
    if (wireType === VARINT) this.varint(end);
    else if (wireType === BYTES) this.position = this.end(end);
    else if (wireType === FIXED64 || wireType === FIXED32) {
      this.position += wireType === FIXED64 ? 8 : 4;
      if (this.position > end) throw new Error("a field is truncated");
    } else throw new Error("a field has a wire type that is not read");
  }
}

/** Timestamp and Duration. */
const TIME = new Message("google.protobuf.Timestamp", () => [
  { number: 1, name: "seconds", kind: "int64" },
  { number: 2, name: "nanos", kind: "int32" },
]);

function entryType(field) {
  field.entry ??= new Message("", () => [
    { number: 1, name: "key", kind: "string" },
    { number: 2, name: "value", kind: field.kind, type: field.type },
  ]);
  return field.entry;
}

function hasPresence(kind) {
  return ["message", "timestamp", "duration"].includes(kind);
}

function isVarint(kind) {
  return kind !== "string" && kind !== "bytes" && !hasPresence(kind);
}

function scalar(field, value) {
  switch (field.kind) {
    case "bool":
      return value !== 0n;
    case "enum":
      return field.type.nameOf(Number(BigInt.asIntN(32, value)));
    case "int32":
      return Number(BigInt.asIntN(32, value));
    case "uint32":
      return Number(BigInt.asUintN(32, value));
    case "int64":
      return BigInt.asIntN(64, value);
    default:
      return value;
  }
}

/** Returns the value of a field that a message does not have. */
function absent(field) {
  if (field.isMap) return {};
  if (field.isRepeated) return [];
  switch (field.kind) {
    case "string":
      return "";
    case "bytes":
      return Buffer.alloc(0);
    case "bool":
      return false;
    case "enum":
      return field.type.nameOf(0);
    case "int32":
    case "uint32":
      return 0;
    case "int64":
    case "uint64":
      return 0n;
    default:
      return undefined;
  }
}

module.exports = { Enumeration, Message };
