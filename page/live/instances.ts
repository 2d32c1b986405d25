import { signal, type ReadonlySignal } from '@preact/signals'
import { type Carrier, readJson } from '../mcp/carrier.ts'
import { refresher } from './refresh.ts'

const instancesUri = 'gateway://instances'

/** A row of `gateway://instances`. */
export interface InstanceRow {
  readonly instance_id: string
  readonly instance_short: string
  readonly display_name: string
  readonly dcc_type: string
  readonly status: string
  readonly health: string
  readonly reason?: string | null
  readonly scene: string | null
  /** Of a scene that no application sent. */
  readonly scene_set_at: string | null
  readonly application: { readonly connected: boolean }
  readonly mcp_url: string | null
}

/** The instances that a gateway knows; null until they are known. */
export function followInstances(carrier: Carrier): ReadonlySignal<readonly InstanceRow[] | null> {
  const rows = signal<readonly InstanceRow[] | null>(null)
  const refresh = refresher(500, async () => {
    rows.value = (await readJson<{ instances: InstanceRow[] }>(carrier, instancesUri)).instances
  })
  carrier.follow(instancesUri, refresh)
  return rows
}
