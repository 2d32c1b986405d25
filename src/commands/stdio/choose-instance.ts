import { columns } from '../../lib/cli/format.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'
import type { InstanceRecord } from '../../lib/instances/record.ts'
import { selectInstances, shortId } from '../../lib/instances/select-instance.ts'
import { sceneText } from '../instances/lines.ts'

const startHint = 'start one with: service-cli serve'

/**
 * Chooses the instance that `word` names, or the only one. Throws `usage_invalid` for an
 * ambiguous or invalid word, `network_failed` when there is no such instance. `naming` shows how to
 * name one of several.
 */
export function chooseInstance(
  instances: InstanceRecord[],
  word: string | undefined,
  naming?: string,
): InstanceRecord {
  const selected = selectInstances(instances, word)
  const [instance] = selected
  if (instance === undefined) throw word === undefined ? noneFound() : notFound(instances, word)
  if (selected.length > 1) throw several(selected, word, naming)
  return instance
}

function noneFound(): ServiceError {
  return new ServiceError('network_failed', 'found no running service-cli serve of yours', {
    hint: `${startHint}, or give the address of an MCP endpoint; service-cli doctor shows one that hangs`,
  })
}

export function several(
  instances: readonly InstanceRecord[],
  word: string | undefined,
  naming = 'service-cli connect ID',
): ServiceError {
  const which = word === undefined ? '' : ` as "${word}"`
  return usage(
    `${instances.length} instances are running${which}:\n${table(instances)}`,
    `choose one by the start of its id: ${naming}`,
  )
}

function notFound(instances: InstanceRecord[], word: string): ServiceError {
  if (/[./:]/.test(word)) {
    return usage(`"${word}" is not an instance`, 'addresses start with http:// or https://')
  }
  const others = instances.length === 0 ? '' : `; running:\n${table(instances)}`
  return new ServiceError('network_failed', `found no running instance "${word}"${others}`, {
    hint: instances.length === 0 ? startHint : 'choose one of these by the start of its id',
  })
}

function table(instances: readonly InstanceRecord[]): string {
  const rows = instances.map(record => [
    shortId(record.instance_id),
    record.dcc_type,
    record.display_name,
    sceneText(record, Date.now()),
  ])
  return columns(['ID', 'TYPE', 'NAME', 'SCENE'], rows)
}
