import { type JsonContainer, type JsonDialect, type JsonNode, endOfComment } from './json-text.ts'

/** The formatting of the text, which additions follow. */
interface Layout {
  readonly text: string
  readonly dialect: JsonDialect
  /** One level of indentation. */
  readonly unit: string
  readonly newline: string
}

/** Replaces `end - start` characters. */
interface Splice {
  readonly start: number
  readonly end: number
  readonly text: string
}

/**
 * Sets `value` at `path` in a JSON text and keeps every other byte. `root` is the parsed text. Null
 * when a part of the path is not an object.
 */
export function setMember(
  text: string,
  root: JsonNode,
  path: readonly string[],
  value: unknown,
  dialect: JsonDialect,
): string | null {
  const layout = layoutOf(text, root, dialect)
  let node: JsonNode = root
  for (const [depth, key] of path.entries()) {
    if (node.kind !== 'object') return null
    const found: JsonNode | undefined = node.members.findLast(member => member.key === key)?.value
    if (found === undefined) {
      const below = path.slice(depth + 1).reduceRight((inner, name) => ({ [name]: inner }), value)
      return spliced(text, addition(layout, node, below, key))
    }
    node = found
  }
  const inner = render(value, layout, lineIndent(text, node.start))
  return spliced(text, { start: node.start, end: node.end, text: inner })
}

/** Like `setMember`, but appends an item to the array at `path`. */
export function appendItem(
  text: string,
  root: JsonNode,
  path: readonly string[],
  value: unknown,
  dialect: JsonDialect,
): string | null {
  const node = nodeAt(root, path)
  if (node === null) return setMember(text, root, path, [value], dialect)
  if (node.kind !== 'array') return null
  return spliced(text, addition(layoutOf(text, root, dialect), node, value, null))
}

/** The last of duplicate members counts, as in `JSON.parse`. */
function nodeAt(root: JsonNode, path: readonly string[]): JsonNode | null {
  let node: JsonNode | undefined = root
  for (const key of path) {
    if (node.kind !== 'object') return null
    node = node.members.findLast(member => member.key === key)?.value
    if (node === undefined) return null
  }
  return node
}

function addition(layout: Layout, into: JsonContainer, value: unknown, key: string | null): Splice {
  const { text, newline } = layout
  const name = key === null ? '' : `${JSON.stringify(key)}: `
  const last = into.kind === 'object' ? into.members.at(-1)?.value : into.items.at(-1)
  const first = into.kind === 'object' ? into.members[0]?.keyStart : into.items[0]?.start
  if (last === undefined || first === undefined) return filling(layout, into, name, value)
  if (!text.slice(into.start, first).includes('\n')) {
    const inline = `${name}${JSON.stringify(value)}`
    if (into.trailingComma === null) return insertion(last.end, `, ${inline}`)
    return insertion(into.trailingComma, ` ${inline},`)
  }
  const indent = lineIndent(text, first)
  const line = `${newline}${indent}${name}${render(value, layout, indent)}`
  if (into.trailingComma !== null) {
    return insertion(endOfLineTrivia(layout, into.trailingComma), `${line},`)
  }
  // The comma goes before a comment behind the last member, the new line after it.
  const behind = endOfLineTrivia(layout, last.end)
  return {
    start: last.end,
    end: behind,
    text: `,${text.slice(last.end, behind)}${line}`,
  }
}

/** Fills brackets that contain only space and comments. */
function filling(layout: Layout, into: JsonContainer, name: string, value: unknown): Splice {
  const { text, newline, unit } = layout
  const outer = lineIndent(text, into.start)
  const indent = `${outer}${unit}`
  const inside = text.slice(into.start + 1, into.end - 1)
  const line = `${newline}${indent}${name}${render(value, layout, indent)}`
  const kept = inside.trimEnd()
  return {
    start: into.start + 1,
    end: into.end - 1,
    text: `${kept}${line}${newline}${outer}`,
  }
}

function render(value: unknown, { unit, newline }: Layout, indent: string): string {
  return JSON.stringify(value, null, unit).replaceAll('\n', `${newline}${indent}`)
}

/** The end of the spaces and comments that begin on the same line. */
function endOfLineTrivia({ text, dialect }: Layout, from: number): number {
  if (dialect === 'json') return from
  let end = from
  for (let at = from; ;) {
    while (text.charAt(at) === ' ' || text.charAt(at) === '\t') at++
    const comment = endOfComment(text, at)
    if (comment === null) return end
    end = at = comment
  }
}

function layoutOf(text: string, root: JsonNode, dialect: JsonDialect): Layout {
  const newline = /\r?\n/.exec(text)?.[0] ?? '\n'
  const first = root.kind === 'object' ? root.members[0]?.keyStart : undefined
  const indent = first === undefined ? '' : lineIndent(text, first)
  return { text, dialect, newline, unit: indent === '' ? '  ' : indent }
}

/** The indentation of the line of `at`. */
function lineIndent(text: string, at: number): string {
  const start = text.lastIndexOf('\n', at - 1) + 1
  return /^[ \t]*/.exec(text.slice(start, at))?.[0] ?? ''
}

function insertion(at: number, text: string): Splice {
  return { start: at, end: at, text }
}

function spliced(text: string, { start, end, text: inner }: Splice): string {
  return text.slice(0, start) + inner + text.slice(end)
}
