import { isDeepStrictEqual } from 'node:util'
import {
  findNodeAtLocation,
  getNodeValue,
  type JSONPath,
  modify,
  type Node,
  parseTree,
} from 'jsonc-parser'
import { arrayOf, type JsonObject, isJsonObject } from '../../util/json.ts'
import { ServiceError, unusableFile } from '../../util/errors.ts'
import { findFault } from '../json-fault.ts'
import type { Client } from './clients.ts'
import { type Entry, newSettings } from './entry.ts'

/** What helps when this program cannot change the file. */
export const pasteHint = 'paste the entry yourself'

export interface MergedSettings {
  readonly change: 'added' | 'replaced' | 'unchanged'
  readonly text: string
}

const byteOrderMark = '\uFEFF'

/**
 * Merges the entry into JSON settings and keeps every other byte. `force` replaces an entry that
 * differs; further members of it do not count. `path` is for messages. Throws `config_invalid` for a
 * text that the client could not read or that has another shape, and `entry_exists`.
 */
export function mergeEntry(
  path: string,
  before: string,
  client: Client,
  wanted: Entry,
  force: boolean,
): MergedSettings {
  const { section, format } = client
  const { name, entry, input } = wanted
  const mark = before.startsWith(byteOrderMark) ? byteOrderMark : ''
  let text = before.slice(mark.length)
  if (text.trim() === '') {
    return { change: 'added', text: mark + newSettings(client, wanted) }
  }
  const fault = findFault(text, format === 'json' ? 'json' : 'jsonc')
  if (fault !== null) {
    const place = `${path}:${fault.line}:${fault.column}`
    throw unusableFile(place, fault.what, `correct it, or ${pasteHint}`)
  }
  const root = parse(text)
  assertShapes(path, root, section, input !== null)
  const node = findNodeAtLocation(root, [section, name])
  const found = node && getNodeValue(node)
  const change = found === undefined ? 'added' : hasMembers(found, entry) ? 'unchanged' : 'replaced'
  if (change === 'replaced' && !force) {
    const told = `${path} has another entry ${JSON.stringify(name)}, for ${addressOf(found)}`
    const hint = 'choose another --name, or add --force to replace it'
    throw new ServiceError('entry_exists', told, { hint })
  }
  if (change !== 'unchanged') {
    text = withValue(text, [section, name], entry)
    const inputs = arrayOf(getNodeValue(root).inputs)
    const isKnown = inputs.some(each => isJsonObject(each) && each.id === input?.id)
    if (input !== null && !isKnown) text = withValue(text, ['inputs', -1], input)
  }
  return { change, text: mark + text }
}

/** Whether the entry has all of these members; it may have more. */
function hasMembers(found: unknown, wanted: JsonObject): boolean {
  if (!isJsonObject(found)) return false
  return Object.entries(wanted).every(([name, value]) => isDeepStrictEqual(found[name], value))
}

/** Where an entry leads, for people. */
function addressOf(entry: unknown): string {
  const { url, httpUrl, serverUrl, command, args } = isJsonObject(entry) ? entry : {}
  const words = [url ?? httpUrl ?? serverUrl ?? command, args].flat(2)
  return words.filter(word => typeof word === 'string').join(' ') || 'something else'
}

function parse(text: string): Node {
  return parseTree(text, [], { allowTrailingComma: true }) as Node
}

function assertShapes(path: string, root: Node, section: string, hasInputs: boolean): void {
  if (root.type !== 'object') throw unusableFile(path, 'does not contain an object', pasteHint)
  // Clients disagree on which of them counts.
  if (hasDuplicate(root)) throw unusableFile(path, 'has two members of one name', pasteHint)
  const types = { [section]: 'object', ...(hasInputs && { inputs: 'array' }) }
  for (const [member, type] of Object.entries(types)) {
    const node = findNodeAtLocation(root, [member])
    if (node === undefined || node.type === type) continue
    throw unusableFile(path, `has an unexpected value under "${member}"`, pasteHint)
  }
}

function hasDuplicate({ type, children = [] }: Node): boolean {
  const names = type === 'object' ? children.map(member => member.children?.[0]?.value) : []
  return new Set(names).size < names.length || children.some(hasDuplicate)
}

/** Sets a value and keeps every other byte. What is new has the indentation of the file. */
function withValue(text: string, path: JSONPath, value: unknown): string {
  const [edit] = modify(text, path, value, {})
  if (edit === undefined) return text
  const { offset, length, content } = edit
  const newline = /\r?\n/.exec(text)?.[0] ?? '\n'
  const parent = parentOf(text, path)
  const unit = /^[ \t]+(?=")/m.exec(text)?.[0] ?? '  '
  const outer = newline + indentOfLine(text, parent.offset)
  const pretty = (json: unknown) => JSON.stringify(json, null, unit).replaceAll('\n', outer)
  const spliced = (from: number, to: number, inserted: string) =>
    text.slice(0, from) + inserted + text.slice(to)

  if (length > 0) return spliced(offset, offset + length, pretty(value))
  const [first] = parent.children ?? []
  const isOneLine = first && !text.slice(parent.offset, first.offset).includes('\n')
  if (isOneLine === true) return spliced(offset, offset, content)
  const added = content.replace(/^,/, '')
  // Begins with a line end, and ends before the one of the closing bracket.
  const lines = pretty(JSON.parse(parent.type === 'array' ? `[${added}]` : `{${added}}`))
    .slice(1, -1)
    .trimEnd()
  if (first === undefined) {
    const end = parent.offset + parent.length - 1
    return spliced(offset, end, `${text.slice(offset, end).trimEnd()}${lines}${outer}`)
  }
  // A comma and a comment behind the last member stay on its line.
  const [behind = '', comma] = /^(,?)[ \t]*(?:\/\/.*|\/\*.*?\*\/)?/.exec(text.slice(offset)) ?? []
  const joined = comma === '' ? `,${behind}${lines}` : `${behind}${lines},`
  return spliced(offset, offset + behind.length, joined)
}

/** The innermost object or array of the path that exists. */
function parentOf(text: string, path: JSONPath): Node {
  let node = parse(text)
  for (const segment of path) {
    const child = segment === -1 ? undefined : findNodeAtLocation(node, [segment])
    if (child === undefined) break
    node = child
  }
  return node
}

function indentOfLine(text: string, at: number): string {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', at - 1) + 1))?.[0] ?? ''
}
