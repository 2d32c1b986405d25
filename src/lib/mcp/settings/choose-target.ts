import { isLoopback } from '../../util/address.ts'
import type { Instance } from '../../instances/instance.ts'
import { selectInstance, shortIds } from '../../instances/select-instance.ts'
import { usage } from '../../util/errors.ts'

/** The server that the entry leads to. */
export interface Target {
  readonly url: string
  /** Of the entry, unless another is asked for. */
  readonly name: string
  /** What `service-cli connect` is asked for; null: the only server there is. */
  readonly word: string | null
  /** No server was found running: this is where one would listen. */
  readonly assumed: boolean
}

/** Where `service-cli serve` listens unless it is told otherwise. */
const defaultUrl = 'http://127.0.0.1:8765/mcp'

const defaultName = 'service-cli'

/**
 * The URL that is asked for, else the instance, else the only live one. Throws `usage_invalid`,
 * with a list, when that is not one server.
 */
export function chooseTarget(
  asked: { readonly url?: string | undefined; readonly instance?: string | undefined },
  live: readonly Instance[],
): Target {
  if (asked.url !== undefined) {
    const url = checkUrl(asked.url)
    const known = live.find(instance => instance.url === url)
    return { url, name: nameOf(known), word: url, assumed: false }
  }
  const selected = selectInstance(live, asked.instance)
  switch (selected.kind) {
    case 'one': {
      const { instance } = selected
      const { url, dccType } = instance
      // The id ends with the run and the port may, too; the next one of the kind has both anew.
      const isOnlyOfKind = live.filter(other => other.dccType === dccType).length === 1
      const kind = isOnlyOfKind && dccType !== 'unknown' ? dccType : live.length === 1 ? null : url
      // By its kind only one of this machine is found.
      const word = isLoopback(new URL(url).hostname) ? kind : url
      return { url, name: nameOf(instance), word, assumed: false }
    }
    case 'several':
      throw usage(
        `several servers are running: ${describe(selected.instances)}`,
        'choose one with --instance ID or --url URL',
      )
    case 'too_short':
      throw usage(`--instance ${asked.instance} is too short to name one`, listHint(live))
    case 'none':
      if (asked.instance === undefined) {
        return { url: defaultUrl, name: defaultName, word: defaultUrl, assumed: true }
      }
      throw usage(`no running server is --instance ${asked.instance}`, listHint(live))
  }
}

/** As every client takes it; an entry's name must do for all of them. */
export function checkName(name: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(name)) return name
  throw usage('--name must be 1 to 64 letters, digits, - and _', 'as in blender')
}

function checkUrl(text: string): string {
  if (text === '') throw usage('--url is empty', 'a variable may be unset')
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw usage(`--url ${text} is no http or https URL`, `as in ${defaultUrl}`)
  }
  if (url.username !== '' || url.password !== '') {
    throw usage('--url holds a password', 'the key of a server is given in SERVICE_MCP_API_KEY')
  }
  if (url.hash !== '') throw usage('--url must not hold a #', `as in ${defaultUrl}`)
  return url.href
}

function nameOf(instance: Instance | undefined): string {
  const kind = instance?.dccType ?? 'unknown'
  return kind === 'unknown' || !/^[A-Za-z0-9_-]{1,64}$/.test(kind) ? defaultName : kind
}

function describe(instances: readonly Instance[]): string {
  const ids = shortIds(instances)
  return instances.map(({ dccType, url }, index) => `${ids[index]} (${dccType}, ${url})`).join(', ')
}

function listHint(live: readonly Instance[]): string {
  return live.length === 0 ? 'start one with service-cli serve' : `running: ${describe(live)}`
}
