import { deltaText } from '../../../lib/mcp/change-words.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { Reader } from '../../resources/producer.ts'
import { sceneCurrentUri, sceneDeltaUri } from '../../resources/scene-listing.ts'
import { isReservedScheme, type ServedResources } from '../../resources/schemes.ts'
import { presenceOf } from './presence.ts'
import { parsedDelta } from './scene-changes.ts'
import type { SeenObjects } from './seen-objects.ts'
import { textResult, type ToolResult } from './tool.ts'

export const sceneUris: readonly string[] = [sceneCurrentUri, sceneDeltaUri]

/** Characters of the words about what changed. */
const maxChars = 20_000

interface Words {
  readonly text: string
  /** Of the scene that they tell of. */
  readonly revision?: number
}

/** The caller of one wait, and what it knew before. */
interface Waiter {
  readonly reader: Reader | undefined
  /** The revision of the scene; null: the server has none. */
  readonly since: number | null
  /** Absent: it waits for no object. */
  readonly seen?: SeenObjects
}

/** What a call of `wait_for_change` is told at its end. */
export class WaitAnswers {
  readonly #registry: ServedResources
  /** The words about the last change of the scene, which many calls may have waited for. */
  #told: { readonly key: string; readonly words: Promise<Words> } | undefined

  constructor(registry: ServedResources) {
    this.#registry = registry
  }

  get sceneRevision(): number | null {
    return this.#registry.scene?.current.revision ?? null
  }

  /** Asks an application that has not confirmed its scene: it may do so now. */
  async refreshed(): Promise<void> {
    const { scene } = this.#registry
    if (scene?.asOfMs != null) await scene.refreshed()
  }

  /** `uri` as the caller wrote it, `base` in its canonical spelling without the query. */
  async changed(
    { uri, base: canonical }: { uri: string; base: string },
    { reader, since, seen }: Waiter,
  ): Promise<ToolResult> {
    // The source of the change goes on first: many calls may wait for it.
    await Promise.resolve()
    const { scene } = this.#registry
    if (isOfApplication(canonical)) {
      if (scene?.application?.connected === false) return this.unchanged('the application is gone')
      return textResult(await this.#objectWords(uri, reader, seen), this.#facts(uri))
    }
    if (!sceneUris.includes(canonical) || since === null) {
      return textResult(`changed: ${uri} (read_resource has it)`, this.#facts(uri))
    }
    await this.refreshed()
    const presence = presenceOf(scene, since)
    const key = `${this.sceneRevision} ${since} ${presence?.line}`
    if (this.#told?.key !== key) this.#told = { key, words: this.#sceneWords(since, presence) }
    const { text, ...told } = await this.#told.words
    return textResult(text, { ...this.#facts(uri), ...told, ...presence?.facts })
  }

  unchanged(reason: string): ToolResult {
    const revision = this.sceneRevision
    const gone = presenceOf(this.#registry.scene)
    const data = { changed: false, reason, ...(revision !== null && { revision }), ...gone?.facts }
    const hasScene = this.#registry.scene?.current.hasScene === true
    const now = hasScene ? `; the scene is at revision ${revision}` : ''
    return textResult([`no change: ${reason}${now}`, ...(gone ? [gone.line] : [])].join('\n'), data)
  }

  #facts(uri: string) {
    const revision = this.sceneRevision
    return { changed: true, uris: [uri], ...(revision !== null && { revision }) }
  }

  /** `since` is the present revision when only the application came or went. */
  async #sceneWords(since: number, presence: ReturnType<typeof presenceOf>): Promise<Words> {
    if (since === this.sceneRevision && presence !== null) return { text: presence.line }
    const contents = await this.#registry.read(`${sceneDeltaUri}?since=${since}`)
    const delta = parsedDelta(contents)
    const { revision } = delta
    // The application may have sent a newer scene when it was asked.
    return {
      text: deltaText(delta, presence, maxChars),
      ...(typeof revision === 'number' && { revision }),
    }
  }

  async #objectWords(
    uri: string,
    reader: Reader | undefined,
    seen: SeenObjects | undefined,
  ): Promise<string> {
    const head = `changed: ${uri}`
    try {
      const lines = seen?.changesOf(uri, await this.#registry.read(uri, reader)) ?? []
      return [`${head} (read_resource has it)`, ...lines.map(line => `- ${line}`)].join('\n')
    } catch (error) {
      const isMissing = error instanceof ServiceError && error.code === 'resource_not_found'
      return isMissing
        ? `${head}; the application has it no more`
        : `${head} (read_resource has it)`
    }
  }
}

/** One of its own schemes: only it knows what there is. Notes are the server's. */
export function isOfApplication(uri: string): boolean {
  const scheme = uri.slice(0, uri.indexOf(':'))
  return scheme !== 'notes' && !isReservedScheme(scheme)
}
