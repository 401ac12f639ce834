// The parts of ECharts that the page uses; whatever is not named here is not in the file.

import {
  BarChart, BoxplotChart, HeatmapChart, LineChart, ParallelChart, ScatterChart,
} from 'echarts/charts';
import {
  BrushComponent, GridComponent, LegendComponent, MarkLineComponent, ParallelComponent, TooltipComponent,
} from 'echarts/components';
import { type EChartsType, init, use } from 'echarts/core';
import type { ECBasicOption } from 'echarts/types/dist/shared';
import { LabelLayout } from 'echarts/features';
import { CanvasRenderer } from 'echarts/renderers';

use([
  BarChart, BoxplotChart, HeatmapChart, LineChart, ParallelChart, ScatterChart, BrushComponent,
  GridComponent, LegendComponent, MarkLineComponent, ParallelComponent, TooltipComponent, CanvasRenderer,
  LabelLayout,
]);

export type ChartOption = ECBasicOption;
export type Chart = EChartsType;

export function makeChart(box: HTMLElement): Chart {
  return init(box, null, { renderer: 'canvas' });
}
