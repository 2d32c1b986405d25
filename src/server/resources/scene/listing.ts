import { toRfc3339 } from '../../../lib/util/time.ts'
import { builtIn } from '../scheme-producer.ts'
import type { Descriptor, Template } from '../producer.ts'
import { sceneParameters } from './query.ts'
import type { SceneState } from './state.ts'

export const sceneCurrentUri = 'scene://current'
export const sceneDeltaUri = 'scene://delta'
export const checkpointsUri = 'scene://checkpoints'

const currentTemplate: Template = {
  uriTemplate: `scene://current{?${sceneParameters.join(',')}}`,
  name: 'Part of the scene',
  description:
    'A part of the scene instead of all of it. Start with view=summary (at most 4 KB). ' +
    'Objects: type=light, name=*wheel*, ids=Cube,Lamp, where=visible:false, ' +
    'fields=name,translate, offset and limit for pages. ' +
    'Any other part: pointer=/render (JSON pointer).',
  annotations: { audience: ['assistant'], priority: 0.8 },
}

const deltaTemplate: Template = {
  uriTemplate: 'scene://delta{?since,run}',
  name: 'Scene changes since a revision',
  description: 'What changed in the scene since a revision of this run of the server',
  annotations: { audience: ['assistant'], priority: 0.6 },
}

const checkpointTemplate: Template = {
  ...deltaTemplate,
  uriTemplate: 'scene://delta{?since,run,until}',
  description:
    'What changed in the scene since a revision of this run of the server, or since a checkpoint, ' +
    'up to now or to the checkpoint `until`',
}

export const sceneTemplates = builtIn([currentTemplate, deltaTemplate])
export const templatesWithCheckpoints = builtIn([currentTemplate, checkpointTemplate])

export const checkpointDescriptors: readonly Descriptor[] = builtIn([
  {
    uri: checkpointsUri,
    name: 'Checkpoints of the scene',
    description:
      'Scenes of the open document that people gave a name: scene://delta?since=NAME tells what changed since',
    annotations: { audience: ['assistant', 'user'], priority: 0.4 },
  },
])

/** The scene, or the placeholder that stands for it. */
export function sceneText({ text, current }: SceneState): string {
  if (text !== null) return text
  const { setAtMs, removalReason } = current
  const reason = removalReason === '' ? '' : ` (${removalReason})`
  const why = setAtMs === null ? 'no scene has been shared yet' : `no scene is shared now${reason}`
  const hint = `${why}; wait for a change of scene://current`
  return JSON.stringify({ status: 'no_snapshot', hint })
}

/** What the text of a scene does not say of itself. Member names are those on the wire. */
export function sceneFacts({ run, current, application, asOfMs }: SceneState): object {
  const { revision, setAtMs, bytes } = current
  return {
    run,
    revision,
    set_at: setAtMs === null ? null : toRfc3339(setAtMs),
    size: bytes,
    application: application && {
      connected: application.connected,
      dcc_type: application.dccType,
      since: toRfc3339(application.sinceMs),
      ...(asOfMs !== null && { as_of: toRfc3339(asOfMs) }),
    },
  }
}

export function describeScene(state: SceneState): readonly Descriptor[] {
  const { hasScene, bytes, setAtMs } = state.current
  const changed = setAtMs !== null && { lastModified: toRfc3339(setAtMs) }
  return builtIn([
    {
      uri: sceneCurrentUri,
      name: 'Current scene',
      description:
        'The scene open in the application, as it last reported it; {"status":"no_snapshot"} before that',
      size: hasScene ? bytes : Buffer.byteLength(sceneText(state)),
      annotations: { audience: ['user', 'assistant'], priority: 0.9, ...changed },
    },
    {
      uri: sceneDeltaUri,
      name: 'Scene changes',
      description:
        'What changed in the scene since the revision before, or since the revision named by ?since=N&run=RUN',
      annotations: { audience: ['assistant'], priority: 0.6, ...changed },
    },
  ])
}
