import { diffJson } from '../../../lib/util/json-diff.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../../lib/util/json.ts'
import { describeChanges } from '../../../lib/mcp/change-words.ts'
import type { Content } from '../../resources/producer.ts'

/** Larger objects are not compared: reading them costs the application too much already. */
const maxObjectChars = 256 * 1024
/** Characters of the objects of all calls together. */
const maxChars = 8 * 1024 * 1024
const maxDepth = 64
/** Changes beyond it are not looked for: their words are cut long before. */
const maxChanges = 100

/** The objects of the application as they were when one call began to wait for them. */
export interface SeenObjects {
  /** Keeps nothing once the call has ended, or beyond the bound. */
  keep(uri: string, contents: readonly Content[]): void
  /** What changed since, in words; none when that is not known. */
  changesOf(uri: string, contents: readonly Content[]): readonly string[]
  release(): void
}

/** Keeps objects within one bound for all calls. */
export class ObjectMemory {
  #chars = 0

  open(): SeenObjects {
    const texts = new Map<string, string>()
    let isOpen = true
    return {
      keep: (uri, contents) => {
        const text = textOf(contents)
        if (!isOpen || text === null || this.#chars + text.length > maxChars) return
        this.#chars += text.length
        texts.set(uri, text)
      },
      changesOf(uri, contents) {
        const before = objectOf(texts.get(uri))
        const after = objectOf(textOf(contents))
        return before === null || after === null ? [] : describe(uri, before, after)
      },
      release: () => {
        isOpen = false
        for (const text of texts.values()) this.#chars -= text.length
        texts.clear()
      },
    }
  }
}

function textOf([content, ...more]: readonly Content[]): string | null {
  if (content === undefined || more.length > 0 || !('text' in content)) return null
  return content.text.length <= maxObjectChars ? content.text : null
}

function objectOf(text: string | null | undefined): JsonObject | null {
  const parsed = parseJson(text ?? '', maxDepth)
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : null
}

/** As if the object were the only one of a scene, so that it is described as one. */
function describe(uri: string, before: JsonObject, after: JsonObject): readonly string[] {
  const [old, now] = [before, after].map(object => ({ objects: [{ ...object, id: uri }] }))
  return describeChanges(diffJson(old, now, { maxChanges }).changes)
}
