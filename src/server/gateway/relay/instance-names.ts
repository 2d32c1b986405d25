import {
  minPrefixChars,
  plainId,
  selectInstances,
  shortId,
} from '../../../lib/instances/select-instance.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import { cleanText } from '../../../lib/util/text.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../../resources/errors.ts'
import type { InstanceDirectory, InstanceEntry } from '../instance-directory.ts'
import { idPrefix } from '../instance-query.ts'
import { type EndedInstances, labelOf } from './ended-instances.ts'

/** Instances that an error names, for a caller to choose from. */
const maxCandidates = 20
/** What an error repeats of a caller's word. */
const maxWordChars = 100

/** Spellings of ids that are kept. */
const maxKnownIds = 1000

/** Finds the instance that an address or a word of a caller names. */
export class InstanceNames {
  readonly #directory: InstanceDirectory
  readonly #ended: EndedInstances
  /** Selector → id, of those that name one instance alone, while the directory has these entries. */
  #known: { readonly entries: readonly InstanceEntry[]; readonly ids: Map<string, string> } = {
    entries: [],
    ids: new Map(),
  }

  constructor(directory: InstanceDirectory, ended: EndedInstances) {
    this.#directory = directory
    this.#ended = ended
  }

  /** Those that run, in their order. */
  get live(): readonly InstanceEntry[] {
    return this.#directory.entries.filter(({ verdict }) => verdict.health !== 'dead')
  }

  /** The instance that a word of a caller names: an id, a kind, a document; absent: the only one. */
  choose(word: string | undefined): InstanceEntry {
    const named = this.live.map(entry => {
      const { instanceId: id, dccType, displayName, scene } = entry.record
      return { id, dccType, displayName, scene, entry }
    })
    const selected = selectInstances(named, word)
    const [id, ...others] = word === undefined ? [] : this.idsOf(word)
    // Digits of one that has ended must not choose another one.
    if (id !== undefined && others.length > 0) throw ambiguous(word ?? '', [id, ...others])
    const [chosen] = selected
    if (chosen !== undefined && selected.length === 1) return chosen.entry
    const end = id === undefined ? null : this.#ended.errorOf(id)
    if (end !== null) throw end
    const candidates = selected.length > 1 ? selected : named
    if (candidates.length === 0) throw notNamed('no instance runs on this machine')
    const lines = candidates
      .slice(0, maxCandidates)
      .map(({ id, entry }) => `${shortId(id)}: ${labelOf(entry)}`)
    if (candidates.length > maxCandidates) lines.push('gateway://instances has all of them')
    const which = word === undefined ? '' : ` as "${cleanText(word, maxWordChars)}"`
    const found =
      selected.length > 1
        ? `${candidates.length} instances run${which}`
        : `no instance runs${which}`
    throw notNamed(`${found}; name one of them as "instance":\n${lines.join('\n')}`)
  }

  /** The ids that are the selector or begin with it, also of those that have ended. */
  idsOf(selector: string): readonly string[] {
    const digits = idPrefix(selector)
    if (digits === null || digits.length < minPrefixChars) return []
    const known = this.#directory.entries.map(({ record }) => record.instanceId)
    const ids = [...new Set([...known, ...this.#ended.ids])]
    return ids.filter(id => plainId(id).startsWith(digits))
  }

  /** Throws `ResourceNotFound` or `ResourceUriInvalid` for `text`, which has the selector. */
  idOf(selector: string, text: string): string {
    const { entries } = this.#directory
    if (this.#known.entries !== entries) this.#known = { entries, ids: new Map() }
    const { ids } = this.#known
    const known = ids.get(selector)
    if (known !== undefined) return known
    const [id, ...others] = this.idsOf(selector)
    if (id !== undefined && others.length > 0) throw ambiguous(selector, [id, ...others], text)
    if (id !== undefined) {
      if (ids.size < maxKnownIds) ids.set(selector, id)
      return id
    }
    throw unknownInstance(text)
  }
}

/** For the reader of `uri`. */
export function unknownInstance(uri: string): ResourceNotFound {
  const error = new ResourceNotFound(uri)
  error.message += `; no such instance is known; gateway://instances has the ids: write at least ${minPrefixChars} digits`
  return error
}

function notNamed(message: string): ServiceError {
  return new ServiceError('argument_invalid', message)
}

function ambiguous(selector: string, ids: string[], uri?: string): ServiceError {
  const shown = ids.slice(0, maxCandidates)
  return new ResourceUriInvalid(`several instances begin with the digits "${selector}"`, {
    hint: `write more digits: ${shown.join(', ')}`,
    data: { ...(uri !== undefined && { uri }), candidates: shown },
  })
}
