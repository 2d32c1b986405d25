import {
  BoxGeometry,
  Color,
  InstancedMesh,
  Matrix4,
  MeshBasicMaterial,
  PerspectiveCamera,
  Quaternion,
  Raycaster,
  Scene,
  Vector2,
  Vector3,
  WebGLRenderer,
} from 'three'
import { OrbitControls } from 'three/addons/controls/OrbitControls.js'
import { type Box, boundsOf } from '../parts/boxes-of.ts'

/** Colours by what a box is. */
export interface BoxColours {
  readonly usual: string
  readonly selected: string
  readonly changed: string
}

interface ViewParts {
  readonly canvas: HTMLCanvasElement
  readonly colours: BoxColours
  readonly onSelect: (id: string) => void
}

/** A click moves the pointer by fewer pixels than this. */
const clickPixels = 4

/**
 * Boxes of objects, drawn when something changed or the view is turned, never in a loop: a browser
 * without a graphics card draws few frames a second.
 */
export class BoxView {
  readonly #parts: ViewParts
  readonly #renderer: WebGLRenderer
  readonly #scene = new Scene()
  readonly #camera = new PerspectiveCamera(45, 1, 0.01, 1000)
  readonly #controls: OrbitControls
  readonly #geometry = new BoxGeometry()
  readonly #material = new MeshBasicMaterial({
    transparent: true,
    opacity: 0.55,
    depthWrite: false,
  })
  #mesh: InstancedMesh | null = null
  #boxes: readonly Box[] = []
  #isFramed = false
  #isDrawing = false

  /** Throws where the browser has no WebGL. */
  constructor(parts: ViewParts) {
    const { canvas } = parts
    this.#parts = parts
    this.#renderer = new WebGLRenderer({ canvas, antialias: true, alpha: true })
    this.#controls = new OrbitControls(this.#camera, canvas)
    this.#controls.addEventListener('change', () => this.#drawSoon())
    let pressed = { x: 0, y: 0 }
    canvas.addEventListener('pointerdown', ({ offsetX: x, offsetY: y }) => (pressed = { x, y }))
    canvas.addEventListener('pointerup', ({ offsetX, offsetY }) => {
      const moved = Math.hypot(offsetX - pressed.x, offsetY - pressed.y)
      if (moved < clickPixels) this.#pick(offsetX, offsetY)
    })
  }

  resize(width: number, height: number): void {
    this.#renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2))
    this.#renderer.setSize(width, height, false)
    this.#camera.aspect = width / Math.max(1, height)
    this.#camera.updateProjectionMatrix()
    this.#drawSoon()
  }

  show(boxes: readonly Box[], selectedId: string | null, isChanged: (id: string) => boolean): void {
    this.#boxes = boxes
    this.#frame()
    const mesh = this.#meshFor(boxes.length)
    const least = boundsOf(boxes).radius / 100
    const { usual, selected, changed } = this.#parts.colours
    const [matrix, turn, colour] = [new Matrix4(), new Quaternion(), new Color()]
    for (const [at, { id, centre, size }] of boxes.entries()) {
      const scale = new Vector3(...size.map(length => Math.max(length, least)))
      mesh.setMatrixAt(at, matrix.compose(new Vector3(...centre), turn, scale))
      mesh.setColorAt(
        at,
        colour.set(id === selectedId ? selected : isChanged(id) ? changed : usual),
      )
    }
    mesh.instanceMatrix.needsUpdate = true
    if (mesh.instanceColor !== null) mesh.instanceColor.needsUpdate = true
    mesh.computeBoundingSphere()
    this.#drawSoon()
  }

  close(): void {
    this.#controls.dispose()
    this.#mesh?.dispose()
    this.#geometry.dispose()
    this.#material.dispose()
    this.#renderer.dispose()
  }

  /** Looks at everything, once: afterwards the reader turns the view. */
  #frame(): void {
    if (this.#isFramed || this.#boxes.length === 0) return
    this.#isFramed = true
    const { centre, radius } = boundsOf(this.#boxes)
    const [x, y, z] = centre
    const distance = radius * 2.6
    this.#camera.near = radius / 1000
    this.#camera.far = radius * 100
    this.#camera.position.set(x + distance * 0.6, y + distance * 0.5, z + distance * 0.65)
    this.#camera.updateProjectionMatrix()
    this.#controls.target.set(x, y, z)
    this.#controls.update()
  }

  #meshFor(count: number): InstancedMesh {
    if (this.#mesh !== null && this.#mesh.count === count) return this.#mesh
    if (this.#mesh !== null) this.#scene.remove(this.#mesh)
    this.#mesh?.dispose()
    this.#mesh = new InstancedMesh(this.#geometry, this.#material, count)
    this.#scene.add(this.#mesh)
    return this.#mesh
  }

  #pick(x: number, y: number): void {
    const { clientWidth, clientHeight } = this.#parts.canvas
    const point = new Vector2((x / clientWidth) * 2 - 1, 1 - (y / clientHeight) * 2)
    const ray = new Raycaster()
    ray.setFromCamera(point, this.#camera)
    const hit = this.#mesh === null ? undefined : ray.intersectObject(this.#mesh)[0]
    const box = hit?.instanceId === undefined ? undefined : this.#boxes[hit.instanceId]
    if (box !== undefined) this.#parts.onSelect(box.id)
  }

  #drawSoon(): void {
    if (this.#isDrawing) return
    this.#isDrawing = true
    requestAnimationFrame(() => {
      this.#isDrawing = false
      this.#renderer.render(this.#scene, this.#camera)
    })
  }
}
