import { plainId } from '../../../lib/instances/select-instance.ts'
import { arrayOf, isJsonObject, type JsonObject } from '../../../lib/util/json.ts'
import { artefactTemplates } from '../../artefacts/producer.ts'
import { notesTemplates } from '../../notes/notes-producer.ts'
import { type SchemeProducer, builtIn } from '../../resources/scheme-producer.ts'
import { captureTemplates } from '../../resources/capture.ts'
import { ResourceNotFound } from '../../resources/errors.ts'
import type {
  CompletionContext,
  Descriptor,
  Reader,
  RelayedContents,
  Template,
} from '../../resources/producer.ts'
import { labelOf } from './ended-instances.ts'
import { parseInstanceUri, type ResourceUri } from '../../resources/resource-uri.ts'
import { sceneTemplates } from '../../resources/scene/listing.ts'
import { polledSchemes } from '../../resources/schemes.ts'
import { sessionEventTemplates } from '../../resources/session-events.ts'
import type { Instances } from './instances.ts'

const root = 'instance://{instance_id}/'
const any = `${root}{scheme}/{+path}`

const instanceTemplates = [
  ...sceneTemplates,
  ...captureTemplates,
  ...notesTemplates,
  ...artefactTemplates,
  ...sessionEventTemplates,
]

/** A template at the gateway → how the instance calls it. */
const innerTemplates = new Map(
  instanceTemplates.map(({ uriTemplate }) => [outerTemplate(uriTemplate), uriTemplate]),
)

/** Those that instances have, under their addresses at the gateway. */
const templates: readonly Template[] = builtIn([
  {
    uriTemplate: `${root}scene/current`,
    name: 'Scene of an instance',
    description: 'The whole scene of one instance; with ?view=summary on one page',
  },
  ...instanceTemplates
    .map(withoutDrain)
    .map(template => ({
      ...template,
      uriTemplate: outerTemplate(template.uriTemplate),
      name: `${template.name}, of an instance`,
    })),
  {
    uriTemplate: any,
    name: 'Any resource of an instance',
    description: 'scheme://path of the instance is instance://<id>/scheme/path here',
    mimeType: undefined,
  },
])

/** A gateway takes no events away from others. */
function outerTemplate(uriTemplate: string): string {
  return uriTemplate.replace(/^([a-z]+):\/\//, `${root}$1/`).replace(',drain', '')
}

function withoutDrain(template: Template): Template {
  if (!template.uriTemplate.includes(',drain')) return template
  return { ...template, description: 'Events of a session with an id greater than `cursor`' }
}

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

  async complete(
    variable: string,
    prefix: string,
    { uriTemplate, resolved, reader }: CompletionContext,
  ): Promise<readonly string[]> {
    if (variable === 'instance_id') {
      const ids = this.#instances.names.live.map(({ record }) => record.instanceId)
      return ids.filter(id => plainId(id).startsWith(plainId(prefix)))
    }
    const selector = resolved.get('instance_id')
    if (selector === undefined) return []
    const instanceId = this.#instances.names.idOf(selector, `gateway://instances/${selector}`)
    const uri = innerTemplates.get(uriTemplate)
    if (uri === undefined) return []
    const others = Object.fromEntries([...resolved].filter(([name]) => name !== 'instance_id'))
    const params = {
      ref: { type: 'ref/resource', uri },
      argument: { name: variable, value: prefix },
      context: { arguments: others },
    }
    const call = { method: 'completion/complete', params, member: 'completion' }
    const members = await this.#instances.call(instanceId, call, reader)
    // Completions are small: a larger answer is of no use.
    if (typeof members !== 'string') {
      members.discard()
      return []
    }
    const { completion } = JSON.parse(`{${members}}`) as JsonObject
    const { values } = isJsonObject(completion) ? completion : {}
    return arrayOf(values).filter(value => typeof value === 'string')
  }
}

function isPushed(uri: string): boolean {
  const parsed = parseInstanceUri(uri)
  return parsed !== null && !polledSchemes.has(parsed.scheme)
}
