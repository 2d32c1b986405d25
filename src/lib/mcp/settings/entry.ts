import { stringify } from 'smol-toml'
import { keyVariable } from '../../auth/api-key-config.ts'
import type { JsonObject } from '../../util/json.ts'
import type { Client, EntryFacts } from './clients.ts'

/** An entry, and what to say of it. */
export type Entry = ReturnType<typeof makeEntry>

/**
 * `input` is an item of the list `inputs`, identified by its `id`, or null. `own` is the client's own
 * command that makes the entry, or null.
 */
export function makeEntry(
  client: Client,
  given: Pick<EntryFacts, 'name' | 'url' | 'scope' | 'keyed' | 'bridge'>,
) {
  const { name, keyed, bridge } = given
  const { title, http, stdio, note, keyNote } = client
  const key = keyed ? client.key?.replace('NAME', name) : undefined
  const [command = '', ...args] = bridge ?? []
  const headers = key === undefined ? undefined : { Authorization: `Bearer ${key}` }
  const env = key === undefined ? undefined : { [keyVariable]: key }
  const facts: EntryFacts = { ...given, command, args, headers, env }
  const isHttp = bridge === null && http !== undefined
  const members = isHttp ? http(facts) : (stdio?.(facts) ?? { command, args, env })
  const inherited = `${title} needs ${keyVariable} in its environment: start it where that is set.`
  return {
    name,
    // Without the members that are undefined.
    entry: JSON.parse(JSON.stringify(members)) as JsonObject,
    input: (keyed && client.input?.(name)) || null,
    own: client.own?.(facts) ?? null,
    notes: [note, keyed ? (keyNote ?? inherited) : undefined].filter(text => text !== undefined),
  }
}

/** Settings that have only this entry; also the text to paste. */
export function newSettings({ format, section }: Client, { name, entry, input }: Entry): string {
  switch (format) {
    case 'toml':
      // The parent table is empty and needs no header.
      return `${stringify({ [section]: { [name]: entry } })
        .replace(`[${section}]\n`, '')
        .trim()}\n`
    // JSON is YAML, too.
    case 'yaml':
      return `${section}:\n  - ${JSON.stringify(entry)}\n`
    default: {
      const inputs = input === null ? {} : { inputs: [input] }
      return `${JSON.stringify({ ...inputs, [section]: { [name]: entry } }, null, 2)}\n`
    }
  }
}
