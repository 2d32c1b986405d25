import { columns } from '../lib/cli/format.ts'
import type { InstanceRecord } from '../lib/instances/record.ts'
import { selectInstances, shortId } from '../lib/instances/select-instance.ts'
import { ServiceError, usage } from '../lib/util/errors.ts'
import { sceneCell } from './instances/lines.ts'

/**
 * Chooses the instance that `word` names, or the only one. Throws `usage_invalid` when there are
 * several, `network_failed` when there is none. `naming` shows how to name one of several.
 */
export function chooseInstance(
  instances: InstanceRecord[],
  word: string | undefined,
  naming?: string,
): InstanceRecord {
  const selected = selectInstances(instances, word)
  const [instance] = selected
  if (selected.length > 1) throw several(selected, word, naming)
  if (instance !== undefined) return instance
  const what = word === undefined ? 'service-cli serve of yours' : `instance "${word}"`
  const others = instances.length === 0 ? '' : `; running:\n${table(instances)}`
  throw new ServiceError('network_failed', `found no running ${what}${others}`, {
    hint:
      instances.length === 0
        ? 'start one with: service-cli serve; service-cli doctor shows one that hangs'
        : 'choose one of these by the start of its id',
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

function table(instances: readonly InstanceRecord[]): string {
  const rows = instances.map(record => [
    shortId(record.instance_id),
    record.dcc_type,
    record.display_name,
    sceneCell(record),
  ])
  return columns(['ID', 'TYPE', 'NAME', 'SCENE'], rows)
}
