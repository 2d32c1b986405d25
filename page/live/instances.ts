import { type Carrier, readJson } from '../mcp/carrier.ts'

export const instancesUri = 'gateway://instances'

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

/** The instances that a gateway knows. */
export async function readInstances(carrier: Carrier): Promise<readonly InstanceRow[]> {
  return (await readJson<{ instances: InstanceRow[] }>(carrier, instancesUri)).instances
}
