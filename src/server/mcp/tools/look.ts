import { z } from 'zod'
import { shotSides } from '../../../lib/host-link/wire.ts'
import { systemClock } from '../../../lib/util/time.ts'
import { pictureWidths } from '../../resources/capture.ts'
import { pictureContent } from './picture.ts'
import { createTool, failedResult, type ToolParts } from './tool.ts'
import { withQuery } from './written-uri.ts'

/** An application tells a change before it draws it. After this time the window shows it. */
const drawnMs = 300

/** Takes a picture of the application, as the user sees it now. */
export const look = createTool({
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
    target: z
      .enum(['window', 'viewport'])
      .describe('the whole window, or the 3D view without menus and panels')
      .default('window'),
    camera: z.string().describe('id of a camera to look through').optional(),
    of: z
      .array(z.string())
      .max(100)
      .describe('ids of objects that shall fill the picture')
      .optional(),
    view: z
      .enum(shotSides)
      .describe('the side from which "of" is seen; three-quarter when absent')
      .optional(),
    max_width: z
      .int()
      .min(64)
      .max(pictureWidths.model)
      .describe('pixels; wider pictures are scaled down')
      .default(pictureWidths.usual),
  }),
  async call({ target, max_width: maxWidth, ...shot }, caller, parts) {
    const { registry } = parts
    const isShot = Object.keys(shot).length > 0
    const isViewport = isShot || target === 'viewport'
    const revision = registry.scene?.current.revision
    // The view alone is drawn anew for the picture.
    if (!isViewport) await untilDrawn(parts)
    const uri = `capture://${isViewport ? 'viewport' : 'current_window'}`
    const asked = withQuery(uri, { max_width: maxWidth, ...shot })
    const [picture] = await registry.read(asked, caller)
    const scene = revision === undefined ? '' : `, scene revision ${revision}`
    const caption = isViewport ? 'viewport' : 'window'
    const content =
      picture && 'blob' in picture && (await pictureContent(picture.blob, caption, scene))
    if (!content) {
      const reason = 'the picture must be made smaller, which needs the package sharp'
      return failedResult('resource_failed', `${reason}: install it, or read ${asked}`)
    }
    return { content }
  },
})

/** Waits until the window shows the newest scene. */
async function untilDrawn({ registry, timer }: ToolParts): Promise<void> {
  const ageMs = systemClock.now() - (registry.scene?.current.setAtMs ?? 0)
  if (ageMs < 0 || ageMs >= drawnMs) return
  await new Promise<void>(resolve => void timer.after(drawnMs - ageMs, resolve))
}
