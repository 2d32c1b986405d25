import { useComputed, useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import type { Live } from '../live/live.ts'
import { Objects } from '../live/objects.ts'
import { flatten, search } from '../parts/flatten.ts'
import { NoScene } from '../parts/no-scene.tsx'
import { Empty } from '../parts/small.tsx'
import { Tree } from '../parts/tree.tsx'
import { ObjectDetail } from './object-detail.tsx'
import { Outline } from './outline.tsx'

/** The objects of the scene as a tree, and one of them in detail. */
export function SceneScreen({ live }: { live: Live }) {
  const objects = useMemo(() => new Objects(live.carrier, live.scene), [live])
  useEffect(() => () => objects.close(), [objects])
  const { summary, meta } = live.scene
  if (summary.value?.status === 'no_snapshot') {
    return <NoScene application={meta.value?.application ?? null} />
  }
  const state = objects.state.value
  switch (state.kind) {
    case 'loading':
      return (
        <Empty title={state.read === 0 ? 'Reading the scene …' : `Read ${state.read} objects …`} />
      )
    case 'failed':
      return <Empty title={`The scene cannot be read: ${state.reason}`} />
    case 'other':
      return <Outline live={live} />
    case 'rows':
      return <ObjectTree live={live} objects={objects} />
  }
}

function ObjectTree({ live, objects }: { live: Live; objects: Objects }) {
  const text = useSignal('')
  /** Which objects were opened and closed by hand. */
  const toggled = useSignal<ReadonlyMap<string, boolean>>(new Map())
  const selected = useSignal<string | null>(null)
  const rows = useComputed(() => {
    const { value: state } = objects.state
    if (state.kind !== 'rows') return []
    const wanted = text.value.trim()
    return wanted === '' ? flatten(state.rows, toggled.value) : search(state.rows, wanted)
  })
  const state = objects.state.value
  const total = state.kind === 'rows' ? state.rows.size : 0
  const toggle = (id: string, isOpen: boolean) => {
    toggled.value = new Map(toggled.value).set(id, isOpen)
  }
  return (
    <div class="scene grid">
      <section class="list grid" aria-label="Objects">
        <label>
          <span class="unseen">Search objects</span>
          <input
            type="search"
            placeholder={`Search ${total} objects`}
            value={text.value}
            onInput={event => (text.value = event.currentTarget.value)}
          />
        </label>
        <Tree
          rows={rows.value}
          selectedId={selected.value}
          changed={objects.changed.value}
          onSelect={id => (selected.value = id)}
          onToggle={toggle}
        />
        {rows.value.length === 0 && (
          <p class="quiet">
            {text.value === '' ? 'The scene has no objects.' : 'No object of this name or type.'}
          </p>
        )}
      </section>
      <section class="detail card" aria-label="Object">
        {selected.value === null ? (
          <p class="quiet">Choose an object to see its details.</p>
        ) : (
          <ObjectDetail
            key={selected.value}
            live={live}
            id={selected.value}
            changedMs={objects.changed.value.get(selected.value)}
          />
        )}
      </section>
    </div>
  )
}
