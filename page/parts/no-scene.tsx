import type { Application } from '../live/scene.ts'
import { Ago, Copyable, Empty } from './small.tsx'

/** What to do while the server has no scene. */
export function NoScene({ application }: { application: Application | null }) {
  const next = 'No scene is shared. The next one appears here by itself.'
  if (application !== null) {
    const name = applicationName(application)
    return (
      <Empty title={application.connected ? `${name} is connected` : 'No application is connected'}>
        <p>
          {!application.connected && [`${name} left `, <Ago at={application.since} />, '. ']}
          {next}
        </p>
      </Empty>
    )
  }
  return (
    <Empty title="No application is connected">
      <p>{next}</p>
      <ol class="card grid">
        <li>
          Write the add-on for Blender to a file:
          <Copyable label="Command that writes the add-on" text="service-cli adapter blender" />
        </li>
        <li>In Blender: Edit, Preferences, Add-ons, Install from Disk, and choose that file.</li>
        <li>In the 3D view press N, open the tab AI Link, and press Start Server.</li>
      </ol>
    </Empty>
  )
}

export function applicationName({ dcc_type }: Application): string {
  return dcc_type === 'unknown' ? 'The application' : titleCase(dcc_type)
}

export function titleCase(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1)
}
