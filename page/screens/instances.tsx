import type { InstanceRow } from '../../src/server/gateway/instance-rows.ts'
import type { Live } from '../live/live.ts'
import { titleCase } from '../parts/no-scene.tsx'
import { Empty } from '../parts/small.tsx'

/** What runs where, on a gateway. */
export function InstancesScreen({ live }: { live: Live }) {
  const rows = live.instances.value
  if (rows === null) return <Empty title="Reading the list …" />
  if (rows.length === 0) {
    return (
      <Empty title="No instance is running">
        <p>
          Start one beside your application: <code>service-cli serve</code>
        </p>
      </Empty>
    )
  }
  return (
    <ul class="cards grid">
      {rows.map(row => (
        <Instance key={row.instance_id} row={row} />
      ))}
    </ul>
  )
}

function Instance({ row }: { row: InstanceRow }) {
  const { display_name, dcc_type, scene, status, reason, instance_short } = row
  const page = pageOf(row)
  return (
    <li class="card">
      <strong>{display_name}</strong>
      <span>{scene ?? documentWords(row)}</span>
      <span class="quiet">
        {dcc_type === 'unknown' ? instance_short : `${titleCase(dcc_type)}, ${instance_short}`}
      </span>
      <span class={`state ${status}`}>{status.replaceAll('_', ' ')}</span>
      {status !== 'available' && reason && <span class="quiet">{reason}</span>}
      {page !== undefined && status !== 'dead' && (
        <a class="button" href={page}>
          Open its page
        </a>
      )}
    </li>
  )
}

/** The list names the documents of applications alone. */
function documentWords({ application, scene_set_at }: InstanceRow): string {
  if (scene_set_at !== null) return 'a scene posted by a program'
  return application.connected ? 'document not known' : 'no application connected'
}

/** The address comes from a record that any program of this user can write: http alone is a link. */
function pageOf({ mcp_url }: InstanceRow): string | undefined {
  return /^https?:\/\/[^/]+/.exec(mcp_url ?? '')?.[0]
}
