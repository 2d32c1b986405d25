import { z } from 'zod'
import { shotSides } from '../../../lib/host-link/wire.ts'
import type { JsonObject } from '../../../lib/util/json.ts'
import type { Clock, Timer } from '../../../lib/util/time.ts'
import type { ServedResources } from '../../resources/served-resources.ts'
import { kinds } from './arguments.ts'
import { pictureContent } from './picture.ts'
import { createTool, type Tool } from './tool.ts'

/** An application tells a change before it draws it. After this time the window shows it. */
const drawnMs = 300

export const lookDefinition = {
  name: 'look',
  title: 'Look at the application',
  description:
    "Take a picture (screenshot) of the application's window as the user sees it now, or of its " +
    '3D view alone (target=viewport). Where the application offers it, camera looks through a ' +
    'camera of the scene, and of=[ids] at these objects from view; the view of the user does not ' +
    'move. Answers with the image and the revision of the scene.',
  searchHint:
    'screenshot, picture, image, look at the viewport, see the window, view through camera',
  input: z.strictObject({
    target: kinds
      .word(['window', 'viewport'], 'the whole window, or the 3D view without menus and panels')
      .default('window'),
    camera: kinds.text('id of a camera to look through').optional(),
    of: kinds.texts(100, 'ids of objects that shall fill the picture').optional(),
    view: kinds
      .word(shotSides, 'the side from which "of" is seen; three-quarter when absent')
      .optional(),
    max_width: kinds.integer(64, 1568, 'pixels; wider pictures are scaled down').default(1024),
  }),
}

interface LookParts {
  readonly registry: ServedResources
  /** That of the scene's times. */
  readonly clock: Clock
  readonly timer: Timer
}

/** Takes a picture of the application, as the user sees it now. */
export function lookTool({ registry, clock, timer }: LookParts): Tool {
  /** Waits until the window shows the newest scene. */
  async function untilDrawn(): Promise<void> {
    const ageMs = clock.now() - (registry.scene?.current.setAtMs ?? 0)
    if (ageMs < 0 || ageMs >= drawnMs) return
    await new Promise<void>(resolve => void timer.after(drawnMs - ageMs, resolve))
  }

  return createTool(lookDefinition, async ({ target, max_width: width, ...shot }, { reader }) => {
    const isShot = Object.keys(shot).length > 0
    const isViewport = isShot || target === 'viewport'
    const revision = registry.scene?.current.revision
    // The view alone is drawn anew for the picture.
    if (!isViewport) await untilDrawn()
    const path = isViewport ? 'viewport' : 'current_window'
    const asked = Object.entries(shot).map(([name, value]) => {
      const text = Array.isArray(value) ? JSON.stringify(value) : value
      return `&${name}=${encodeURIComponent(text.toWellFormed())}`
    })
    const uri = `capture://${path}?max_width=${width}${asked.join('')}`
    const [picture] = await registry.read(uri, reader)
    const scene = revision === undefined ? '' : `, scene revision ${revision}`
    const caption = isShot ? shownIn(shot) : target
    const content = picture && 'blob' in picture && pictureContent(picture.blob, caption, scene)
    if (!content) throw new Error('a picture without bytes')
    return { content }
  })
}

/** Names are data from the caller. */
function shownIn({ camera, of, view = 'three-quarter' }: JsonObject): string {
  if (camera !== undefined) return `through ${JSON.stringify(camera)}`
  return `${Array.isArray(of) ? of.join(', ') : 'the scene'} (${String(view)})`
}
