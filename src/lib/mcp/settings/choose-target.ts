import { isLoopback } from '../../util/net.ts'
import type { Instance } from '../../instances/instance.ts'
import { selectInstance, shortIds } from '../../instances/select-instance.ts'
import { usage } from '../../util/errors.ts'
import { entryName } from '../entry-name.ts'

/** The server of the entry. */
export interface Target {
  readonly url: string
  /** The default name of the entry. */
  readonly name: string
  /** The argument of `service-cli connect`; null selects the only server. */
  readonly word: string | null
  /** No server runs; `url` is the default address. */
  readonly assumed: boolean
}

/** The default address of `service-cli serve`. */
const defaultUrl = 'http://127.0.0.1:8765/mcp'

/**
 * Chooses the given URL, the given instance, or the only live one. Throws `usage_invalid`, with a
 * list, unless exactly one server matches.
 */
export function chooseTarget(asked: { url?: string; instance?: string }, live: Instance[]): Target {
  if (asked.url !== undefined) {
    const url = checkUrl(asked.url)
    const known = live.find(instance => instance.url === url)
    return { url, name: entryName(known?.dccType), word: url, assumed: false }
  }
  const selected = selectInstance(live, asked.instance)
  switch (selected.kind) {
    case 'one': {
      const { instance } = selected
      const { url, dccType } = instance
      // A restart changes the id and maybe the port, but not the kind of application.
      const isOnlyOfKind = live.filter(other => other.dccType === dccType).length === 1
      const kind = isOnlyOfKind && dccType !== 'unknown' ? dccType : live.length === 1 ? null : url
      // `connect KIND` finds only instances of this machine.
      const word = isLoopback(new URL(url).hostname) ? kind : url
      return { url, name: entryName(instance.dccType), word, assumed: false }
    }
    case 'several':
      throw usage(
        `several servers are running: ${describe(selected.instances)}`,
        'choose one with --instance ID or --url URL, or all with --gateway',
      )
    case 'too_short':
      throw usage(`--instance ${asked.instance} is too short`, listHint(live))
    case 'none':
      if (asked.instance === undefined) {
        return { url: defaultUrl, name: entryName(), word: defaultUrl, assumed: true }
      }
      throw usage(`no running server matches --instance ${asked.instance}`, listHint(live))
  }
}

/** Checks an entry name; every client accepts these. */
export function checkName(name: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(name)) return name
  throw usage('--name must be 1 to 64 letters, digits, - and _', 'example: blender')
}

function checkUrl(text: string): string {
  if (text === '') throw usage('--url is empty', 'a variable may be unset')
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw usage(`--url ${text} is not an http or https URL`, `example: ${defaultUrl}`)
  }
  if (url.username !== '' || url.password !== '') {
    throw usage('--url contains a password', 'pass the key in SERVICE_MCP_API_KEY')
  }
  if (url.hash !== '')
    throw usage('--url must not contain a fragment (#)', `example: ${defaultUrl}`)
  return url.href
}

function describe(instances: readonly Instance[]): string {
  const ids = shortIds(instances)
  return instances.map(({ dccType, url }, index) => `${ids[index]} (${dccType}, ${url})`).join(', ')
}

function listHint(live: Instance[]): string {
  return live.length === 0 ? 'start one with service-cli serve' : `running: ${describe(live)}`
}
