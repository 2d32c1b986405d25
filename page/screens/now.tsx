import { useEffect } from 'preact/hooks'
import { counted } from '../../src/lib/util/amounts.ts'
import { arrayOf } from '../../src/lib/util/json.ts'
import { asText, cleanText } from '../../src/lib/util/text.ts'
import { type ClientRow, lastDone } from '../live/clients.ts'
import type { Live } from '../live/live.ts'
import type { SceneMeta, Summary } from '../live/scene.ts'
import { applicationName, NoScene, titleCase } from '../parts/no-scene.tsx'
import { Ago, Empty } from '../parts/small.tsx'

/** Is the application there, what does it show, what changed, and who looks. */
export function NowScreen({ live }: { live: Live }) {
  const summary = live.scene.summary.value
  const meta = live.scene.meta.value
  if (summary === null || meta === null) {
    return <Empty title={live.scene.trouble.value ?? 'Reading the scene …'} />
  }
  const isShared = summary.status !== 'no_snapshot'
  return (
    <div class="now grid">
      {isShared && <Headline summary={summary} meta={meta} />}
      <div>
        {!isShared && <NoScene application={meta.application} />}
        {(isShared || meta.application?.connected === true) && <CurrentPicture live={live} />}
      </div>
      <div class="side grid">
        <JustChanged live={live} />
        <Clients live={live} />
      </div>
    </div>
  )
}

function Headline({ summary, meta }: { summary: Summary; meta: SceneMeta }) {
  const { dcc } = summary
  const type = meta.application?.dcc_type ?? dcc?.type
  const program = type === undefined ? [] : [[titleCase(type), dcc?.version].join(' ').trim()]
  return (
    <section class="headline">
      <h2 class="title">
        Your AI can see <strong>{titleOf(summary)}</strong>
      </h2>
      <p>{[...factsOf(summary), ...program].join(' · ')}</p>
      <Presence meta={meta} />
    </section>
  )
}

function titleOf({ document }: Summary): string {
  if (document === undefined) return 'a scene without a document'
  return cleanText(document.name ?? 'an unsaved document')
}

/** Whether what is shown is what the application shows now. */
function Presence({ meta: { application, set_at: at } }: { meta: SceneMeta }) {
  if (application === null) {
    return <p>This scene was posted by a program{at !== null && [' ', <Ago at={at} />]}.</p>
  }
  if (!application.connected) {
    return (
      <p class="warning">
        {applicationName(application)} left <Ago at={application.since} />. This is its last scene.
      </p>
    )
  }
  if (application.as_of === undefined) return null
  return (
    <p class="warning">
      {applicationName(application)} is busy: this is as of <Ago at={application.as_of} />.
    </p>
  )
}

function factsOf({ objects, time, selection, mode, document }: Summary): readonly string[] {
  const { total } = objects ?? {}
  return [
    ...(total === undefined ? [] : [counted(total, 'object')]),
    ...(time?.frame === undefined ? [] : [`frame ${time.frame}`]),
    ...(selection?.count === undefined ? [] : [selectionText(selection)]),
    ...(mode === undefined || mode === 'object' ? [] : [`${mode} mode`]),
    ...(document?.modified === true ? ['not saved'] : []),
  ]
}

function selectionText({ count = 0, ids = [] }: NonNullable<Summary['selection']>): string {
  if (count === 0) return 'nothing selected'
  const [id] = arrayOf(ids)
  return `${count === 1 && id !== undefined ? cleanText(asText(id)) : count} selected`
}

function CurrentPicture({ live }: { live: Live }) {
  useEffect(() => live.picture.watch(), [live])
  const state = live.picture.state.value
  const isLive = live.carrier.connection.value.kind === 'live'
  if (state.kind === 'none') {
    return (
      <figure class="picture none">
        <p>{state.reason === null ? 'Taking a picture …' : `No picture: ${state.reason}`}</p>
      </figure>
    )
  }
  return (
    <figure class="picture">
      <img src={state.source} alt="What the application shows" />
      <figcaption class={state.stale === null ? '' : 'warning'}>
        Taken <Ago at={state.atMs} />
        {state.stale === null
          ? state.isBehind && isLive && '; a newer one follows'
          : `; no newer one: ${state.stale}`}
      </figcaption>
    </figure>
  )
}

function JustChanged({ live }: { live: Live }) {
  const entries = live.scene.changes.value.slice(0, 12)
  return (
    <section class="card" aria-labelledby="changed">
      <h2 id="changed">What just changed</h2>
      {entries.length === 0 ? (
        <p class="quiet">Nothing since you opened this view.</p>
      ) : (
        <ol class="changes lines" aria-live="polite">
          {entries.map(({ id, atMs, lines }) => (
            <li key={id}>
              {lines.slice(0, 5).map(line => (
                <span>{line}</span>
              ))}
              {lines.length > 5 && <span class="quiet">… and {lines.length - 5} more</span>}
              <Ago at={atMs} />
            </li>
          ))}
        </ol>
      )}
    </section>
  )
}

function Clients({ live }: { live: Live }) {
  const rows = live.clients.value
  if (rows === null) return null
  return (
    <section class="card" aria-labelledby="looking">
      <h2 id="looking">Who is looking</h2>
      {rows.length === 0 ? (
        <p class="quiet">
          No AI client is connected now. <a href="#/connect">Connect one</a>
        </p>
      ) : (
        <ul class="clients lines">
          {[...Map.groupBy(rows, ({ name }) => name)].slice(0, 12).map(([name, alike]) => (
            <li key={name}>
              <strong>{name}</strong>
              <LastDone rows={alike} />
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function LastDone({ rows }: { rows: readonly ClientRow[] }) {
  const done = lastDone(rows)
  const several = rows.length > 1 && <span class="quiet">{rows.length} connected</span>
  if (done === undefined)
    return several || <span class="quiet">connected, has read nothing yet</span>
  return (
    <span>
      {done.what} <Ago at={done.at} /> {several}
    </span>
  )
}
