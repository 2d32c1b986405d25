import type { Content, Descriptor, Template } from './producer.ts'
import type { ResourceUri } from './resource-uri.ts'

/** A producer of this folder: always synchronous, given the URI already taken apart. */
export interface BuiltIn {
  list(): readonly Descriptor[]
  read(uri: ResourceUri): readonly Content[]
  templates(): readonly Template[]
  complete(variable: string, prefix: string): readonly string[]
}

/** One JSON content, frozen: returned again it says "unchanged". */
export function jsonContents(uri: string, text: string): readonly Content[] {
  return Object.freeze([Object.freeze({ uri, mimeType: 'application/json', text })])
}

export function freezeAll<Item extends object>(items: readonly Item[]): readonly Item[] {
  return Object.freeze(items.map(item => Object.freeze(item)))
}
