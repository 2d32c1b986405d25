import { plainId } from '../../../lib/instances/select-instance.ts'
import { ResourceNotFound } from '../../resources/errors.ts'
import type { Descriptor, Reader, RelayedContents, Template } from '../../resources/producer.ts'
import { parseInstanceUri, type ResourceUri } from '../../resources/resource-uri.ts'
import { builtIn, type SchemeProducer } from '../../resources/scheme-producer.ts'
import { polledSchemes } from '../../resources/schemes.ts'
import { labelOf } from './ended-instances.ts'
import type { Instances } from './instances.ts'

const templates: readonly Template[] = builtIn([
  {
    uriTemplate: 'instance://{instance_id}/scene/current',
    name: 'Scene of an instance',
    description: 'The whole scene of one instance; with ?view=summary on one page',
  },
  {
    uriTemplate: 'instance://{instance_id}/{scheme}/{+path}',
    name: 'Any resource of an instance',
    description: 'scheme://path of the instance is instance://<id>/scheme/path here',
    mimeType: undefined,
  },
])

/** The scheme `instance://`: what instances serve, at the address of the gateway, which lists none. */
export class InstanceProducer implements SchemeProducer {
  readonly #instances: Instances

  constructor(instances: Instances) {
    this.#instances = instances
  }

  /** The scenes that the caller may read. */
  first({ schemes }: Reader): readonly Descriptor[] {
    if (schemes?.includes('scene') === false) return []
    return this.#instances.names.live
      .filter(({ record }) => record.host.connected || record.scene !== null || record.sceneSetMs)
      .map(entry => ({
        uri: `instance://${entry.record.instanceId}/scene/current`,
        name: `scene of ${labelOf(entry)}`,
        mimeType: 'application/json',
      }))
  }

  templates(): readonly Template[] {
    return templates
  }

  checkParameters({ text }: ResourceUri, reader?: Reader): void {
    this.#instances.assertThere(this.#instances.find(text, reader), text)
  }

  /** Results are relayed; what is not is no resource. */
  read({ text }: ResourceUri): never {
    throw new ResourceNotFound(text)
  }

  relay({ text }: ResourceUri, reader?: Reader): Promise<RelayedContents> {
    return this.#instances.read(text, reader)
  }

  canonical({ text }: ResourceUri): string | undefined {
    return this.#instances.canonical(text)
  }

  follow(uri: string, isFollowed: boolean): Promise<void> | void {
    if (!isFollowed) return this.#instances.unfollow(uri)
    if (isPushed(uri)) return this.#instances.follow(uri)
  }

  pushes({ text }: ResourceUri): boolean {
    return isPushed(text)
  }

  complete(variable: string, prefix: string): readonly string[] {
    if (variable !== 'instance_id') return []
    const ids = this.#instances.names.live.map(({ record }) => record.instanceId)
    return ids.filter(id => plainId(id).startsWith(plainId(prefix)))
  }
}

function isPushed(uri: string): boolean {
  const parsed = parseInstanceUri(uri)
  return parsed !== null && !polledSchemes.has(parsed.scheme)
}
