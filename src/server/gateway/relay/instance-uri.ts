import { normaliseUri } from '../../resources/resource-uri.ts'

/** `instance://<id>/<scheme>/<rest>`, taken apart. */
interface InstanceUri {
  /** The id of the instance, or the beginning of it. */
  readonly selector: string
  /** Lower case. */
  readonly scheme: string
  /** `<scheme>://<rest>`: how the instance itself calls the resource. */
  readonly inner: string
}

const outerForm = /^instance:\/\/([^/?#]+)\/([a-z][a-z0-9+.-]*)\/([^#]*)$/i
const innerForm = /^([a-z][a-z0-9+.-]*):\/\/([^#]*)$/i

/** Null for a URI of another form. */
export function parseInstanceUri(text: string): InstanceUri | null {
  const [, selector, scheme, rest] = outerForm.exec(text) ?? []
  if (selector === undefined || scheme === undefined || rest === undefined) return null
  const lower = scheme.toLowerCase()
  return { selector, scheme: lower, inner: `${lower}://${rest}` }
}

/** The URI of a resource of an instance at the gateway; null when it has none there. */
export function outerUri(instanceId: string, inner: string): string | null {
  const [, scheme, rest] = innerForm.exec(inner) ?? []
  if (scheme === undefined || rest === undefined) return null
  return `instance://${instanceId}/${scheme.toLowerCase()}/${rest}`
}

/** Whether reading the URI takes events away from others. */
export function drains(inner: string): boolean {
  const query = new URLSearchParams(inner.slice(inner.indexOf('?') + 1))
  return !['false', '0'].includes(query.get('drain') ?? 'false')
}

/** The one spelling under which updates of it are announced. */
export function canonicalOuter(instanceId: string, { inner }: InstanceUri): string {
  return outerUri(instanceId, normaliseUri(inner)) ?? inner
}
