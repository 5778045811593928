"""The words of the pages beside the report in simplified Chinese."""

from __future__ import annotations

PAGES: dict[str, str] = {
    # comparison
    "compare_title": "比较",
    "compare_weighted": "图像按其权重计入时的差；未作校正，仅供与结论对照",
    "compare_answer": "哪个更好？",
    "compare_pair": "{first} 对 {second}：{verdict}。{unit} 之差：{value}。"
                    "这些运行在 100 次中有 {power} 次能显示的最小真实差异是 {detectable}。",
    "compare_policy": "在相同的单元上比较：图像中确有的类别（策略 truth；没有任何类别的 {images} 幅图像未计入）。"
                      "这种方式看不到的是在本不存在的地方预测出的类别，下文另行检验；误报更差的一方不会被判为更好。",
    "compare_unproven": "{names} 的留出性未经证实：没有记录表明这些模型是否用比较所用的图像训练过。",
    "compare_gate": "门槛 {name}：{said}",
    "compare_candidates": "候选模型",
    "compare_ranks": "若再抽取类似的其他组，各候选模型取得各名次的频率",
    "compare_ranks_why": "对组重抽样的比例，针对这些模型",
    "compare_classes": "逐类别比较",
    "compare_alarms": "误报",
    "compare_alarms_why": "图像中本不存在的类别被预测出来的比例；越低越好，因此差小于 0 对前者有利。",
    "compare_no_alarms": "每幅图像都含有全部类别：不可能有误报。",
    "compare_where": "差异所在",
    "compare_groups": "组：{pair}，按前者从最差到最好排列",
    "compare_images": "变化最大的图像：{pair}",
    "compare_tests": "检验及其解读",
    "compare_results": "{first} 对 {second}，按折比较：{verdict}。平均差为 {value}。",
    "compare_sure": "{low} 到 {high}（{level} % 区间）：",
    "compare_next_groups": "要显示更小的差异需要更多的组；需要多少：python -m segcv.plan candidate={first} "
                           "against={second} difference=0.01。",
    "compare_next_models": "要显示更小的差异需要更多的随机种子或重复；需要多少：python -m segcv.plan "
                           "candidate={first} against={second} difference=0.01。",
    "compare_band": "落在此处的均值无法与 0 区分",
    "compare_mean": "各组的均值",
    "compare_axis": "{first} 减 {second}",
    "compare_ranks_axis": "对组重抽样的比例",
    "figure_differences": "各组中的差异，{pair}：蓝色有利于前者，橙色有利于后者；点的大小随图像数增大，"
                          "菱形为均值及其区间",
    "figure_differences_alt": "{pair}：在 {groups} 个组中，前者在 {above} 个组得分较高，后者在 {below} 个组得分较高；"
                              "均值若在 0 附近 {band} 以内则无法看出。",
    "compare_pictures": "最后一幅图中，蓝色表示只有前者正确，橙色表示只有后者正确，红色表示两者都错。"
                        "预测来自第一个随机种子。",
    # terminal
    "row_expected": "新组上预期的 {unit}",
    "row_bounded": "同上，不假设分布形状",
    "row_recipe": "训练方案（重新训练）",
    "row_with_excluded": "计入被剔除的图像",
    "row_worst": "最难的组 {group}",
    "row_one_group": "单次观测",
    "row_sd": "{score} 在 {folds} 折间的 SD（n-1）",
    "row_sd_mean": "其均值为 {mean}",
    "row_random": "随机划分的说法",
    "row_trivial": "处处预测最常见类别",
    "row_reader": "第二位标注者",
    # gallery
    "gallery_title": "图片：{name}",
    "gallery_of": "{runs} 次运行，{images} 幅参与评分的图像，平均得分 {score}（这只是对这些图像的一次观测；"
                  "对新组的预期以及有多大把握，见 aggregate 的报告）。",
    # nested
    "nested_title": "嵌套评估：{name}",
    "nested_answer": "整个训练方案的预期表现",
    "nested_expect": "在新的组上，预期 {unit} 为 {value}：这是 {groups} 个组的均值（各组权重相等），对应的训练方案"
                     "自行完成选择（候选为 {candidates}）和校准，且只使用训练组。",
    "nested_bounded": "不依赖任何分布形状的假设：{value}（{method}）。",
    "nested_optimism": "最佳内层得分的均值为 {inner}；在外层，所选训练方案达到 {outer}：内层减外层为 {difference}。"
                       "大于 0 说明若报告最佳内层得分则会偏高；"
                       "小于 0 说明内层网络因训练集较小所受的损失超过了选择带来的好处。",
    "nested_exploratory": "探索性：在此划分上还报告过 {others} 个其他嵌套评估（{names}）。"
                          "一旦用外层得分在它们之间选择，其中任何一个都不再是独立的判断。",
    "nested_choices": "选择了什么，领先多少",
    "nested_stable": "每一折都选择了 {name}。",
    "nested_unstable": "各折的选择不同：{names}。选择取决于见到了哪些组；下面的得分属于选择过程，而不属于其中某一个。",
    "nested_fallbacks": "在 {all} 次拟合中，有 {number} 次由后备方案给出结果：",
    "nested_no_fallback": "声明的后备方案（{name}）从未用到。",
    "nested_inner": "每个候选的内层得分（用于选择的得分不是估计值）",
    "nested_calibration": "留出组上校准前后的概率",
    "nested_not_calibrated": "所选的候选均不做校准。",
    "nested_ledger": "谁被用于什么",
    "nested_proof": "台账共 {rows} 行，根据实际读取的图像写成：没有任何组在一次拟合中有两种角色，"
                    "评判外层折的组（O）在该折中此前也从未使用过。",
    "nested_fits": "{base} 次基础拟合和 {calibrations} 次校准；按规则 K(JM+1)，{folds} 个外层折、{inner} 个内层折和 "
                   "{candidates} 个候选{repeats}应有 {planned} 次。",
    "nested_limits": "这不能说明什么",
    "nested_limit_model": "这个数字评判的是训练方案，而不是某一个网络：每一折都有自己的网络。最终交付的模型"
                          "（python -m segcv.fit_final）没有独立的测试。",
    "nested_limit_seed": "每次拟合只用一个随机种子：网络自身的变动是各折离散的一部分，无法单独区分。",
}
