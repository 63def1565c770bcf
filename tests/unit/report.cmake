fz_unit_test(report fz_report)
fz_unit_test(render_apple fz_report)
fz_unit_test(report_render fz_report PkgConfig::JANSSON)
fz_unit_test(report_memory fz_report)
