// Bundle: many lines of one color as one element of the canvas. ECharts makes an element for each line of a
// parallel chart, which costs about 100 us a line and frame; here a line costs what its pixels cost.

import { graphic } from 'echarts/core';
import type { Chart } from './echarts';

export interface Lines {
  readonly x: readonly number[];                // px, of the corners that all lines have
  readonly y: readonly (readonly number[])[];   // px, for each line one for each corner
}

export interface Stroke {
  readonly color: string;
  readonly width: number;
  readonly opacity: number;
}

const kNone: Lines = { x: [], y: [] };

const LinesPath = graphic.extendShape({
  type: 'lines',
  shape: kNone,
  buildPath(path: Pick<CanvasRenderingContext2D, 'moveTo' | 'lineTo'>, { x, y }: Lines): void {
    for (const line of y) {
      path.moveTo(x[0] ?? 0, line[0] ?? 0);
      for (let corner = 1; corner < x.length; ++corner) path.lineTo(x[corner] ?? 0, line[corner] ?? 0);
    }
  },
});

// A stroke of more lines is slower than several of fewer: the rasterizer sorts the edges of each.
const kLinesOfElement = 24;

export class Bundle {
  private readonly group = new graphic.Group();

  constructor(chart: Chart) {
    this.group.silent = true;
    chart.getZr().add(this.group);
  }

  clear(): void {
    this.group.removeAll();
  }

  add(x: readonly number[], lines: readonly (readonly number[])[], stroke: Stroke): void {
    for (let first = 0; first < lines.length; first += kLinesOfElement) {
      this.group.add(new LinesPath({
        shape: { x, y: lines.slice(first, first + kLinesOfElement) },
        style: { stroke: stroke.color, lineWidth: stroke.width, opacity: stroke.opacity, fill: 'none' },
        silent: true, zlevel: -1,
      }));
    }
  }
}
