import {
  minPrefixChars,
  plainId,
  selectInstances,
  shortId,
} from '../../../lib/instances/select-instance.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { cleanText } from '../../../lib/util/text.ts'
import { toRfc3339 } from '../../../lib/util/time.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../../resources/errors.ts'
import type { InstanceDirectory, InstanceEntry, Verdict } from '../instance-directory.ts'
import { idPrefix } from '../instance-rows.ts'

/** Instances that an error names, for a caller to choose from. */
const maxCandidates = 20
/** What an error repeats of a caller's word. */
const maxWordChars = 100
/** Instances without a record that are remembered, so that their readers are told. */
const maxRemoved = 1000

/** The instances that a caller can name: those of a directory, and those whose record was removed. */
export class KnownInstances {
  readonly #directory: InstanceDirectory
  /** By id; their verdict says why they ended. */
  readonly #removed = new Map<string, InstanceEntry>()

  constructor(directory: InstanceDirectory) {
    this.#directory = directory
  }

  /** Those that run, in their order. */
  get live(): readonly InstanceEntry[] {
    return this.#directory.entries.filter(({ verdict }) => verdict.health !== 'dead')
  }

  /** Its record was removed. */
  remember({ record, verdict }: InstanceEntry): void {
    const reason = 'its record was removed, as by an instance that stops'
    const stopped: Verdict = { health: 'dead', reason, heartbeatMs: Date.now() }
    const ended = verdict.health === 'dead' ? verdict : stopped
    this.#removed.set(record.instance_id, { record, verdict: ended })
    const [oldest] = this.#removed.keys()
    if (this.#removed.size > maxRemoved && oldest !== undefined) this.#removed.delete(oldest)
  }

  /** Its record is there. */
  forget(instanceId: string): void {
    this.#removed.delete(instanceId)
  }

  /** Throws for an instance that has ended; `uri`: what was asked for. */
  assertThere(instanceId: string, uri = `gateway://instances/${instanceId}`): void {
    const entry = this.#entryOf(instanceId)
    if (entry?.verdict.health !== 'dead') return
    const { heartbeatMs, reason: cause } = entry.verdict
    const seen = toRfc3339(heartbeatMs)
    const message = `${labelOf(entry)} (${shortId(instanceId)}) has ended; last seen: ${seen}; cause: ${cause}`
    throw new ServiceError('resource_not_found', message, {
      hint: 'gateway://instances has those that run',
      data: { uri, reason: 'instance_gone', instance_id: instanceId, last_seen: seen, cause },
    })
  }

  /** The ids that are the selector or begin with it. */
  idsOf(selector: string): readonly string[] {
    if (this.#entryOf(selector) !== undefined) return [selector]
    const digits = idPrefix(selector)
    if (digits === null || digits.length < minPrefixChars) return []
    const known = this.#directory.entries.map(({ record }) => record.instance_id)
    return [...known, ...this.#removed.keys()].filter(id => plainId(id).startsWith(digits))
  }

  /** The id of the one instance. Throws for `uri`, which has the selector. */
  idOf(selector: string, uri: string): string {
    const [id, ...others] = this.idsOf(selector)
    if (id === undefined) throw unknownInstance(uri)
    if (others.length === 0) return id
    const candidates = [id, ...others].slice(0, maxCandidates)
    throw new ResourceUriInvalid(`several instances begin with the digits "${selector}"`, {
      hint: `write more digits: ${candidates.join(', ')}`,
      data: { uri, candidates },
    })
  }

  /** The instance that a word of a caller names: an id, a kind, a document; absent: the only one. */
  choose(word: string | undefined): InstanceEntry {
    const named = this.live.map(entry => ({ ...entry.record, entry }))
    const selected = selectInstances(named, word)
    const [chosen, ...others] = selected
    if (chosen !== undefined && others.length === 0) return chosen.entry
    for (const id of this.idsOf(word ?? '')) this.assertThere(id)
    const isSeveral = selected.length > 1
    const candidates = isSeveral ? selected : named
    if (candidates.length === 0) throw new ServiceError('argument_invalid', 'no instance runs')
    const lines = candidates.map(
      ({ instance_id: id, entry }) => `${shortId(id)}: ${labelOf(entry)}`,
    )
    if (lines.splice(maxCandidates).length > 0) lines.push('gateway://instances has all of them')
    const which = word === undefined ? '' : ` as "${cleanText(word, maxWordChars)}"`
    const found = isSeveral ? `${candidates.length} instances run` : 'no instance runs'
    const message = `${found}${which}; name one of them as "instance":\n${lines.join('\n')}`
    throw new ServiceError('argument_invalid', message)
  }

  #entryOf(instanceId: string): InstanceEntry | undefined {
    const known = this.#directory.entries.find(({ record }) => record.instance_id === instanceId)
    return known ?? this.#removed.get(instanceId)
  }
}

/** For the reader of `uri`. */
export function unknownInstance(uri: string): ResourceNotFound {
  const error = new ResourceNotFound(uri)
  error.message += `; no such instance is known; gateway://instances has the ids: write at least ${minPrefixChars} digits`
  return error
}

/** For people and models. */
export function labelOf({ record }: InstanceEntry): string {
  return [record.dcc_type, record.display_name, record.scene].filter(Boolean).join(', ')
}
